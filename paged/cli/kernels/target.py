"""What `paged kernels` commands work on: `attention`, `attention=v1g` or `mine.cu`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paged.cli.kernels.flags import FORMS
from paged.errors import KernelSourceError
from paged.kernel.choice import parse_choice
from paged.kernel.directives import parse_directives
from paged.kernel.registry import OP_NAMES, find_op, ops
from paged.kernel.source import read_source
from paged.kernel.variant import (
    Variant,
    find_variant,
    kernel_suggestion,
    load_variant,
    shipped_variants,
)


def find_targets(texts: Sequence[str]) -> list[Variant]:
    """Return the variants that texts name; all shipped ones where there is none.

    Raises: KernelSourceError for what names nothing.
    """
    return [variant for text in texts or OP_NAMES for variant in _variants(text)]


def find_target(text: str) -> Variant:
    """Return the one variant that a text names."""
    variants = _variants(text)
    if len(variants) != 1:
        names = ", ".join(f"{text}={v.name}" for v in variants)
        raise KernelSourceError(f"expected one kernel: {names}; got {text!r}")
    return variants[0]


def _variants(text: str) -> list[Variant]:
    if "=" in text:
        op, name = parse_choice(text)
        return [find_variant(find_op(op), name)]
    if text.endswith(".cu"):
        return [load_file(Path(text))]
    if text not in ops():
        raise KernelSourceError(
            f"expected {FORMS}, with OP one of {', '.join(OP_NAMES)}; got {text!r}"
            f"{kernel_suggestion(text, OP_NAMES)}"
        )
    op = ops()[text]
    return [load_variant(op, path) for path in shipped_variants(op).values()]


def load_file(path: Path) -> Variant:
    """Return a file as a variant of the operation that it names itself."""
    name = parse_directives(read_source(path), str(path)).op
    if name is None:
        raise KernelSourceError(
            f"{path}: expected a line '// paged: op NAME' with one of {', '.join(OP_NAMES)}"
        )
    return load_variant(find_op(name), path.resolve())
