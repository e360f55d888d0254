"""A kernel file as one way to compute an operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paged.errors import KernelSourceError
from paged.kernel.directives import Directives, parse_directives
from paged.kernel.op import Op
from paged.kernel.source import read_source
from paged.kernel.spec import KernelSpec, Operand
from paged.kernel.suggestion import suggestion


@dataclass(frozen=True, kw_only=True, eq=False)
class Variant:
    """One file that computes an operation."""

    op: Op
    name: str
    path: Path
    directives: Directives
    spec: KernelSpec


def load_variant(op: Op, path: Path) -> Variant:
    """Read a kernel file as a variant of an operation.

    Raises: KernelSourceError where the file cannot be read, describes another operation or none,
        or contradicts the operation.
    """
    directives = parse_directives(read_source(path), str(path))
    if directives.op != op.name:
        says = "no '// paged: op' line" if directives.op is None else f"op {directives.op!r}"
        raise KernelSourceError(f"{path}: expected a kernel of op {op.name!r}, got {says}")
    return Variant(
        op=op,
        name=variant_name(op, path),
        path=path,
        directives=directives,
        spec=_spec(op, path, directives),
    )


def variant_name(op: Op, path: Path) -> str:
    """Return what a variant is called: its file's stem, without the operation's name."""
    return path.stem.removeprefix(f"{op.name}_")


def shipped_variants(op: Op) -> dict[str, Path]:
    """Return the files of an operation's shipped variants by name, sorted."""
    if not op.variants_dir.is_dir():
        raise KernelSourceError(f"expected kernel files in {op.variants_dir}, found no such folder")
    paths = sorted(op.variants_dir.glob("*.cu"))
    found = {p: parse_directives(read_source(p), str(p)).op for p in paths}
    return {variant_name(op, p): p for p, name in found.items() if name == op.name}


def find_variant(op: Op, name: str, *, others: Sequence[str] = ()) -> Variant:
    """Return the variant of a name, or of a file: anything that ends in `.cu`.

    Raises: KernelSourceError, which lists the variants there are, and others that may be named.
    """
    if name.endswith(".cu"):
        return load_variant(op, Path(name).resolve())
    shipped = shipped_variants(op)
    if name not in shipped:
        known = (*shipped, *others)
        raise KernelSourceError(
            f"expected a variant of {op.name}: {', '.join(known)}, or a path to a .cu file; "
            f"got {name!r}{kernel_suggestion(name, known)}"
        )
    return load_variant(op, shipped[name])


def kernel_suggestion(name: str, known: Iterable[str]) -> str:
    """Return what a name that is no kernel's was meant to be: a file, or the name most like it."""
    file = f"{name}.cu"
    return f"; did you mean {file!r}?" if Path(file).is_file() else suggestion(name, known)


def _spec(op: Op, path: Path, directives: Directives) -> KernelSpec:
    types = _narrowed(op, path, directives.types)
    try:
        return KernelSpec(
            name=op.name,
            source=path,
            launches=directives.launches,
            operands=_aligned(op, path, directives) + directives.workspaces,
            scalars=op.scalars,
            types=types,
            symbols={**op.symbols, **directives.symbols},
            constants=directives.constants,
            requires=op.requires + directives.requires,
            passing="struct",
            cost=op.cost,
            summary=directives.summary,
            device_hint=op.device_hint,
        )
    except KernelSourceError as error:
        raise KernelSourceError(f"{path}: {error}") from error


def _aligned(op: Op, path: Path, directives: Directives) -> tuple[Operand, ...]:
    names = [operand.name for operand in op.operands]
    for name in directives.alignments_bytes:
        if name not in names:
            raise KernelSourceError(
                f"{path}: {op.name} has no operand {name!r} to align{suggestion(name, names)}"
            )
    return tuple(
        replace(o, alignment_bytes=directives.alignments_bytes.get(o.name, o.alignment_bytes))
        for o in op.operands
    )


def _narrowed(
    op: Op, path: Path, types: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    for name, dtypes in types.items():
        beyond = sorted(set(dtypes) - set(op.types.get(name, ())))
        if beyond:
            raise KernelSourceError(
                f"{path}: {op.name} takes no {', '.join(beyond)} for {name}; "
                f"it takes {', '.join(op.types.get(name, ())) or 'no such type'}"
            )
    return {**op.types, **types}
