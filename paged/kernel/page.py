"""The documentation page of a kernel, generated from its specification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from paged.kernel.record import struct_text
from paged.kernel.spec import KernelSpec, Operand, Scalar, expressions


def page(spec: KernelSpec) -> str:
    """Return a kernel's page in Markdown: signature, sizes, launches, struct and least work."""
    return "\n".join(_sections(spec)) + "\n"


def _sections(spec: KernelSpec) -> Iterator[str]:
    yield f"# {spec.name}\n"
    if spec.summary:
        yield f"{spec.summary}\n"
    rows = [_operand_row(spec, o) for o in spec.operands]
    yield table(("operand", "dtype", "shape", "intent", "layout"), rows)
    if spec.scalars:
        rows = [_scalar_row(s) for s in spec.scalars]
        yield table(("number", "dtype", "value"), rows)
    if spec.symbols:
        rows = [(f"`{name}`", f"`{text}`") for name, text in spec.symbols.items()]
        yield table(("size", "computed as"), rows)
    if spec.requires:
        yield "Requires " + ", ".join(f"`{text}`" for text in spec.requires) + ".\n"
    yield from _launches(spec)
    yield _least_work(spec)
    if spec.passing == "struct":
        types = {name: allowed[0] for name, allowed in spec.types.items()}
        body = struct_text(spec, types).partition("static_assert")[0].rstrip()
        yield f"Its one parameter, by value:\n\n```cuda\n{body}\n```\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _operand_row(spec: KernelSpec, operand: Operand) -> tuple[str, ...]:
    dtypes = spec.types.get(operand.dtype)
    kind = operand.dtype if dtypes is None else f"{operand.dtype}: {', '.join(dtypes)}"
    layout = "strided" if operand.strided else "contiguous"
    notes = ", optional" if operand.is_optional else ""
    if operand.alignment_bytes > 1:
        notes += f", aligned to {operand.alignment_bytes} bytes"
    notes += ", a variable of the source" if operand.is_variable else ""
    shape = operand.shape.replace("*", r"\*")
    return f"`{operand.name}`", kind, f"[{shape}]", operand.intent, layout + notes


def _scalar_row(scalar: Scalar) -> tuple[str, ...]:
    if scalar.value is not None:
        value = f"computed: `{scalar.value}`"
    elif scalar.absent is not None:
        value = "optional"
    elif scalar.default is not None:
        value = f"{scalar.default} unless given"
    else:
        value = "given"
    return f"`{scalar.name}`", scalar.dtype, value


def _launches(spec: KernelSpec) -> Iterator[str]:
    launches = [launch for launch in spec.launches if launch.grid != 0]
    rows = [
        (
            f"`{launch.entry}`",
            " x ".join(f"`{text}`" for text in expressions(launch.grid)),
            " x ".join(f"`{text}`" for text in expressions(launch.block)),
            f"`{launch.shared_bytes}`",
        )
        for launch in launches
    ]
    if rows:
        yield table(("launch", "grid", "block", "dynamic shared bytes"), rows)
    macros = [f"`{name.upper()}`" for name in (*spec.types, *spec.constants)]
    if macros and launches:
        yield f"Compiled in: {', '.join(macros)}.\n"


def _least_work(spec: KernelSpec) -> str:
    cost = spec.cost
    if cost.work is not None:
        return f"Least work: {cost.text}.\n"
    moved = "every operand once" if cost.bytes is None else f"`{cost.bytes}` bytes"
    flops = "" if cost.flops is None else f", `{cost.flops}` flops"
    return f"Least work: {moved}{flops}.\n"
