"""Which kernel serves which operation: `use_kernel`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from paged.errors import KernelSourceError
from paged.kernel.backends.interpret import InterpretConfig

REFERENCE = "reference"
"""The name that stands for the operation's torch reference, on any device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The kernels in force.

    Attributes:
        variants: operation to variant: a shipped variant's name, a path to a `.cu` file, or
            `reference`. Operations that are not named take their default.
        interpret: how kernels run on CPU tensors.

    """

    variants: Mapping[str, str] = field(default_factory=dict[str, str])
    interpret: InterpretConfig = field(default_factory=InterpretConfig)


_choices: ContextVar[Choices | None] = ContextVar("paged_kernels", default=None)


def current_choices() -> Choices:
    """Return the kernels in force in this context."""
    return _choices.get() or Choices()


@contextmanager
def use_kernel(
    *, interpret: InterpretConfig | None = None, **variants: str | Path
) -> Generator[Choices, None, None]:
    """Serve operations with these variants inside the block.

    `use_kernel(attention="v2", write_kv="path/to/mine.cu")`. Blocks nest: the inner one adds to
    the outer. Threads started inside keep their own choices, as with any context variable.

    Raises: KernelSourceError for an unknown operation, an unknown variant, a file that cannot
        serve the operation or what is no configuration, before anything runs.
    """
    from paged.kernel.registry import resolve_variant

    _check_config(interpret)
    chosen = {op: resolve_variant(op, str(variant)) for op, variant in variants.items()}
    now = current_choices()
    choices = replace(
        now,
        variants={**now.variants, **chosen},
        interpret=now.interpret if interpret is None else interpret,
    )
    token = _choices.set(choices)
    try:
        yield choices
    finally:
        _choices.reset(token)


def _check_config(interpret: object) -> None:
    if interpret is not None and not isinstance(interpret, InterpretConfig):
        raise KernelSourceError(
            f"interpret must be an InterpretConfig or None, got {interpret!r}; "
            f"kernels run in the interpreter on CPU tensors without it"
        )


def parse_choice(text: str) -> tuple[str, str]:
    """Read `attention=v2` or `attention=path/to/mine.cu`, the form of `--kernel`."""
    op, equals, variant = text.partition("=")
    if not equals or not op or not variant:
        raise KernelSourceError(f"expected OP=VARIANT or OP=FILE.cu, got {text!r}")
    return op, variant
