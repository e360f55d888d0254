"""What a recording says of its run before the first step."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from paged.errors import RecordingError
from paged.field_checks import MAX_INT32, integer, text

# Tables and tokens of all rows are kept in memory, as far as a run has used them.
_MOST_TOKENS = 2**36


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedModel:
    """The attention of the model that ran, as far as a schedule needs it.

    windows: for each KV group the keys that a token sees, its own included; None sees all.
    """

    name: str
    num_heads: int
    num_kv_heads: int
    head_dim: int
    windows: tuple[int | None, ...] = (None,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Sizes of the engine that was recorded.

    num_blocks: of the pool, of all KV groups together. num_groups: block tables of a batch.
    max_row_tokens: most tokens of a sequence, rounded up to whole blocks.
    model: None where the recorder was not told.
    """

    allocator: str
    block_size: int
    num_blocks: int
    num_groups: int
    max_rows: int
    max_row_tokens: int
    model: RecordedModel | None = None

    def encode(self) -> bytes:
        """Return it as bytes."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def decode(cls, data: bytes) -> Header:
        """Return what `encode` made bytes of. Raises: RecordingError."""
        try:
            fields: dict[str, Any] = json.loads(data)
            model: Any = fields.pop("model")
            if model is not None:
                model = RecordedModel(**model | {"windows": tuple(model["windows"])})
            header = cls(**fields, model=model)
            header.check()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RecordingError(f"expected the header of a recording: {error}") from error
        return header

    def check(self) -> None:
        """Raise ConfigError, a ValueError, unless all sizes could be those of an engine."""
        text("allocator", self.allocator)
        for name in ("block_size", "num_blocks", "num_groups", "max_rows", "max_row_tokens"):
            integer(name, getattr(self, name), 1, MAX_INT32)
        integer("max_rows", self.max_rows * self.max_row_tokens * self.num_groups, 1, _MOST_TOKENS)
        if self.model is None:
            return
        text("name", self.model.name)
        for name in ("num_heads", "num_kv_heads", "head_dim"):
            integer(name, getattr(self.model, name), 1, MAX_INT32)
        for window in self.model.windows:
            integer("windows", 1 if window is None else window, 1, MAX_INT32)
