"""From a spec and one call's sizes and types to a source to compile and launches to make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from string import Formatter

from paged.errors import KernelSourceError, OperandError
from paged.kernel.binding import INT32_MAX, Binding
from paged.kernel.dtypes import element_type
from paged.kernel.expression import expression
from paged.kernel.launch import Extent, LaunchRequest
from paged.kernel.record import headers, pack, parameters, struct_text
from paged.kernel.source import KernelSource
from paged.kernel.spec import Expressions, KernelSpec, Launch, expressions

MAX_GRID: Extent = (INT32_MAX, 65535, 65535)
MAX_BLOCK: Extent = (1024, 1024, 64)
MAX_BLOCK_THREADS = 1024


def instantiate(
    spec: KernelSpec, types: Mapping[str, str], sizes: Mapping[str, int]
) -> KernelSource:
    """Return the source of a spec with its types and constants chosen.

    Reads the file. Raises: KernelSourceError where it cannot be read, or where an entry names a
    size that is neither a constant nor a type.
    """
    text, path = spec.read()
    return source_of(spec, text, path, types, sizes)


def source_of(
    spec: KernelSpec,
    text: str,
    path: Path | None,
    types: Mapping[str, str],
    sizes: Mapping[str, int],
) -> KernelSource:
    """Return a text as the source of a spec, with types and constants chosen."""
    names = {name: element_type(dtype).cuda for name, dtype in types.items()}
    chosen = {**names, **{name: str(sizes[name]) for name in spec.constants}}
    if spec.passing == "struct":
        prelude = struct_text(spec, types)
    else:
        prelude = "".join(f"{line}\n" for line in headers(spec, types))
    return KernelSource(
        name=spec.name,
        text=text,
        path=path,
        prelude=prelude,
        defines=tuple((n.upper(), v) for n, v in chosen.items() if n not in braced(spec)),
        entries=tuple(dict.fromkeys(entry_of(spec, launch, chosen) for launch in spec.launches)),
        include_dirs=spec.include_dirs,
        parameters=parameters(spec, types),
        operands=tuple(operand.name for operand in spec.operands if not operand.is_variable),
    )


def braced(spec: KernelSpec) -> set[str]:
    """Return the names that entries take as template arguments; the others become macros."""
    parts = (part for launch in spec.launches for part in Formatter().parse(launch.entry))
    return {name for _, name, _, _ in parts if name is not None}


def entry_of(spec: KernelSpec, launch: Launch, chosen: Mapping[str, str]) -> str:
    """Return a launch's entry with its braces filled in."""
    try:
        return launch.entry.format_map(chosen)
    except KeyError as error:
        raise KernelSourceError(
            f"kernel {spec.name!r}: entry {launch.entry!r} names {error}, expected a type or a "
            f"constant: {', '.join(chosen) or 'there are none'}"
        ) from error


def requests(binding: Binding) -> tuple[LaunchRequest, ...]:
    """Return the launches of one call, in order; they share the arguments.

    Raises: OperandError where a grid, a block or shared memory is beyond what CUDA allows.
    """
    spec = binding.spec
    arguments = pack(binding)
    # what the first launch wrote is defined for the later ones
    later = tuple(p if p.intent == "in" else replace(p, intent="inout") for p in arguments.pointers)
    chosen = {name: element_type(dtype).cuda for name, dtype in binding.types.items()}
    chosen |= {name: str(binding.sizes[name]) for name in spec.constants}
    return tuple(
        LaunchRequest(
            entry=entry_of(spec, launch, chosen),
            grid=_extent(binding, "grid", launch.grid, MAX_GRID),
            block=_block(binding, launch),
            shared_bytes=_shared_bytes(binding, launch),
            arguments=arguments.values,
            pointers=later if i else arguments.pointers,
        )
        for i, launch in enumerate(spec.launches)
    )


def _shared_bytes(binding: Binding, launch: Launch) -> int:
    size_bytes = expression(str(launch.shared_bytes)).evaluate(binding.sizes)
    if size_bytes < 0:
        raise OperandError(
            f"{binding.spec.name}: shared bytes {launch.shared_bytes} must be at least 0, got "
            f"{size_bytes}"
        )
    return size_bytes


def _block(binding: Binding, launch: Launch) -> Extent:
    block = _extent(binding, "block", launch.block, MAX_BLOCK)
    if not 0 < prod(block) <= MAX_BLOCK_THREADS:
        raise OperandError(
            f"{binding.spec.name}: a block has 1 to {MAX_BLOCK_THREADS} threads, got "
            f"{'x'.join(map(str, block))}"
        )
    return block


def _extent(binding: Binding, kind: str, sizes: Expressions, limits: Extent) -> Extent:
    values = [expression(text).evaluate(binding.sizes) for text in expressions(sizes)]
    x, y, z = (*values, 1, 1, 1)[:3]
    for value, limit in zip((x, y, z), limits, strict=True):
        if not 0 <= value <= limit:
            raise OperandError(
                f"{binding.spec.name}: {kind} ({', '.join(expressions(sizes))}) is "
                f"({', '.join(map(str, values))}), at most {limits} is possible"
            )
    return x, y, z
