"""The heads that a replay computes: a recorded model's, or another's, in types of one's own."""

from __future__ import annotations

from dataclasses import dataclass

from paged.errors import RecordingError
from paged.kernel.dtypes import element_type
from paged.recording.header import Header, RecordedModel

MOST = 4096
"""Of heads and of values in one: no model comes near, and a slip would ask for all memory."""

_MODEL = RecordedModel(name="a model of 8B", num_heads=32, num_kv_heads=8, head_dim=128)
_NUM_LAYERS = 32  # as it has; no recording says


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayShape:
    """Heads and types of the calls of a replay, and the KV group they are of.

    num_layers: of blocks that are moved whole.
    window: keys that a token sees, its own included; None sees all.
    group: place among `Batch.group_tables`.
    """

    num_kv_heads: int
    group_size: int
    head_dim: int
    num_layers: int = 1
    q_t: str = "bfloat16"
    kv_t: str = "bfloat16"
    window: int | None = None
    group: int = 0

    @property
    def text(self) -> str:
        """It in words."""
        window = "" if self.window is None else f", window {self.window}"
        return (
            f"{self.num_kv_heads * self.group_size} heads over {self.num_kv_heads} of keys, of"
            f" {self.head_dim}, {self.q_t} on {self.kv_t}{window}"
        )

    @property
    def block_text(self) -> str:
        """What a block holds, in words."""
        return (
            f"{self.num_layers} layers of {self.num_kv_heads} heads of {self.head_dim}, {self.kv_t}"
        )

    def pool_sizes(self, num_blocks: int, block_size: int, num_layers: int = 1) -> tuple[int, ...]:
        """Return the sizes of a pool, as kernels take it."""
        return (num_blocks, num_layers, 2, self.num_kv_heads, block_size, self.head_dim)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOptions:
    """What replaces the recorded model's; None keeps it.

    group: which of the model's KV groups.
    """

    num_kv_heads: int | None = None
    group_size: int | None = None
    head_dim: int | None = None
    num_layers: int | None = None
    q_t: str = "bfloat16"
    kv_t: str = "bfloat16"
    group: int = 0


def shape_of(header: Header, options: ShapeOptions) -> ReplayShape:
    """Return the shape of a recording's calls; of an 8B model where it names none.

    Raises: RecordingError for a size below 1 or above MOST, or a KV group that was not recorded.
    """
    model = header.model or _MODEL
    sizes = {
        "num_kv_heads": options.num_kv_heads or model.num_kv_heads,
        "group_size": options.group_size or model.num_heads // model.num_kv_heads,
        "head_dim": options.head_dim or model.head_dim,
        "num_layers": options.num_layers or _NUM_LAYERS,
    }
    for name, size in sizes.items():
        if not 1 <= size <= MOST:
            raise RecordingError(f"{name} must be from 1 to {MOST:,}, got {size:,}")
    if not 0 <= options.group < len(model.windows):
        raise RecordingError(
            f"expected a KV group from 0 to {len(model.windows) - 1}, got {options.group}"
        )
    for dtype in (options.q_t, options.kv_t):
        element_type(dtype)
    return ReplayShape(
        **sizes,
        q_t=options.q_t,
        kv_t=options.kv_t,
        window=model.windows[options.group],
        # one table may serve all groups
        group=options.group if header.num_groups > 1 else 0,
    )
