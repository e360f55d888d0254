"""Which kernel serves which operation: `use_kernel`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from paged.errors import KernelSourceError
from paged.kernel.backends.host import HostConfig
from paged.kernel.backends.interpret import InterpretConfig

HOST = "host"
"""The name that stands for the operation's kernel of the host backend, on CPU tensors."""

REFERENCE = "reference"
"""The name that stands for the operation's torch reference, on any device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The kernels in force.

    Attributes:
        variants: operation to variant: a shipped variant's name, a path to a `.cu` file, `host`
            or `reference`. Operations that are not named take their default.
        interpret: how CUDA kernels run on CPU tensors.
        host: how host kernels run, those of `paged.kernel.functional` too.

    """

    variants: Mapping[str, str] = field(default_factory=dict[str, str])
    interpret: InterpretConfig = field(default_factory=InterpretConfig)
    host: HostConfig = field(default_factory=HostConfig)


_DEFAULT = Choices()
_choices: ContextVar[Choices | None] = ContextVar("paged_kernels", default=None)


def current_choices() -> Choices:
    """Return the kernels in force in this context."""
    return _choices.get() or _DEFAULT


@contextmanager
def use_kernel(
    *,
    interpret: InterpretConfig | None = None,
    host: HostConfig | None = None,
    **variants: str | Path,
) -> Generator[Choices, None, None]:
    """Serve operations with these variants inside the block.

    `use_kernel(attention="v2", write_kv="path/to/mine.cu")`. Blocks nest: the inner one adds to
    the outer. Threads started inside keep their own choices, as with any context variable.

    Raises: KernelSourceError for an unknown operation, an unknown variant, a file that cannot
        serve the operation or what is no configuration, before anything runs.
    """
    from paged.kernel.registry import resolve_variant

    _check_config("interpret", InterpretConfig, interpret)
    _check_config("host", HostConfig, host)
    chosen = {op: resolve_variant(op, str(variant)) for op, variant in variants.items()}
    now = current_choices()
    choices = replace(
        now,
        variants={**now.variants, **chosen},
        interpret=now.interpret if interpret is None else interpret,
        host=now.host if host is None else host,
    )
    with in_force(choices):
        yield choices


@contextmanager
def in_force(choices: Choices) -> Generator[None, None, None]:
    """Serve operations with choices that `use_kernel` yielded, without resolving names again."""
    token = _choices.set(choices)
    try:
        yield
    finally:
        _choices.reset(token)


def _check_config(name: str, kind: type, given: object) -> None:
    if given is not None and not isinstance(given, kind):
        raise KernelSourceError(
            f"{name} must be of class {kind.__name__} or None, got {given!r}; "
            f"host kernels and the interpreter's run on CPU tensors without it"
        )


def parse_choice(text: str) -> tuple[str, str]:
    """Read `attention=v2` or `attention=path/to/mine.cu`, the form of `--kernel`."""
    op, equals, variant = text.partition("=")
    if not equals or not op or not variant:
        raise KernelSourceError(f"expected OP=VARIANT or OP=FILE.cu, got {text!r}")
    return op, variant
