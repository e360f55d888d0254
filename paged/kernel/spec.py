"""What a kernel is: source, operands, compile-time choices, geometry and least cost.

A `KernelSpec` is to a CUDA file what the arguments of `pallas_call` are to a Pallas kernel.
Checks, launches on every backend, output shapes, torch operators, benchmarks and documentation
all come from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from string import Formatter
from typing import Literal, get_args

from paged.errors import KernelSourceError
from paged.kernel.dtypes import element_type
from paged.kernel.expression import Expression, expression
from paged.kernel.launch import Intent
from paged.kernel.source import read_source
from paged.kernel.suggestion import suggestion
from paged.kernel.work import Cost

Passing = Literal["parameters", "struct"]
Expressions = str | int | tuple[str | int, ...]

MAX_AXES = 3
INCLUDE_DIR = Path(__file__).resolve().parents[2] / "kernels_cu" / "include"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A tensor that a kernel reads or writes.

    Attributes:
        name: what errors, expressions and the kernel's struct call it.
        shape: axes separated by blanks: sizes by name, integers, or expressions without blanks
            (`head_dim+2`).
        dtype: a dtype's name, or a type variable of the spec.
        intent: `in` is read; `inout` is given, and written too; `out` is allocated and returned;
            `workspace` is allocated for the call.
        strided: whether the outer axes may have any strides, which the kernel is then passed.
            The innermost axis is always contiguous.
        is_optional: whether None may be given; the kernel then gets a null pointer.
        is_variable: whether the kernel reads it from the `__constant__` or `__device__` variable
            of this name, not through a parameter.
        alignment_bytes: what the address of the first element must be a multiple of, and the
            strides of a strided operand too; vector loads need the size of their vector.

    """

    name: str
    shape: str
    dtype: str
    intent: Intent = "in"
    strided: bool = False
    is_optional: bool = False
    is_variable: bool = False
    alignment_bytes: int = 1

    @property
    def axes(self) -> tuple[Expression, ...]:
        """Size of each axis, outermost first."""
        return _axes(self.shape)

    @property
    def is_given(self) -> bool:
        """Whether the caller supplies the tensor; others are allocated by the call."""
        return self.intent in ("in", "inout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A number passed to a kernel: by the caller, or an expression over the sizes.

    Integers that the caller passes are sizes as well: shapes and grids may name them.

    Attributes:
        name: what the call, errors and expressions call it.
        dtype: its dtype's name.
        value: the expression; None for a number the caller passes.
        default: what is passed where the caller says nothing.
        absent: what is passed where the caller says None; the number is then optional.
        above: what a given number must exceed, which `absent` need not.

    """

    name: str
    dtype: str
    value: str | None = None
    default: float | None = None
    absent: float | None = None
    above: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether the caller passes the number."""
        return self.value is None

    @property
    def is_size(self) -> bool:
        """Whether shapes, grids and expressions may name the number."""
        return self.is_given and "int" in self.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One kernel start.

    Attributes:
        entry: the kernel's name, or a template expression with constants and type variables in
            braces: `softmax<{t}, {num_columns}>`.
        grid: number of blocks, up to three sizes along x, y, z. None are run where one is 0.
        block: number of threads of a block, likewise.
        shared_bytes: dynamic shared memory of one block.

    """

    entry: str
    grid: Expressions
    block: Expressions
    shared_bytes: str | int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelSpec:
    """A raw CUDA kernel, specified once for every backend.

    Attributes:
        name: identifier, used in messages, for the build and for the struct's name.
        source: a `.cu` file, read again whenever it changes, or CUDA text.
        launches: kernel starts of one call, in order, all over the same operands.
        operands: tensors in the order of the call; `out` and `workspace` are allocated.
        scalars: numbers, given by keyword in the call unless they have a value.
        types: type variables and the dtypes each may stand for.
        symbols: further sizes, as expressions over those that shapes name, in order.
        constants: sizes that are compiled in, any of them: each new value is compiled anew. They
            and the types reach the source as template arguments where an entry names them in
            braces, else as macros in upper case. The struct has their sizes all the same.
        requires: conditions on the sizes, checked before a launch.
        passing: `parameters` gives the kernel a typed parameter list, `struct` one by-value
            struct `<Name>Params`, generated into the source: the least cost per launch.
        parameters: names of operands, scalars and sizes in the order of the kernel's own list;
            None stands for operands, then scalars.
        cost: the least work of a call, for the roofline.
        summary: one line for lists and the kernel's page.
        include_dirs: where the source's quoted includes are looked up.
        device_hint: what serves operands on several devices, for the error of such calls.

    Raises: KernelSourceError where names are unknown or repeated.
    """

    name: str
    source: Path | str
    launches: tuple[Launch, ...]
    operands: tuple[Operand, ...]
    scalars: tuple[Scalar, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    symbols: Mapping[str, str] = field(default_factory=dict[str, str])
    constants: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    passing: Passing = "parameters"
    parameters: tuple[str, ...] | None = None
    cost: Cost = field(default_factory=Cost)
    summary: str = ""
    include_dirs: tuple[Path, ...] = (INCLUDE_DIR,)
    device_hint: str = ""

    def __post_init__(self) -> None:
        names = [o.name for o in self.operands] + [s.name for s in self.scalars]
        names += [*self.sizes, *self.types]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            self._refuse(f"names must differ, got {', '.join(repeated)} more than once")
        if not self.name.isidentifier():
            self._refuse("the name must be an identifier, for it names a struct and a build")
        if not self.launches:
            self._refuse("expected at least one launch, got none")
        self._check_source()
        for operand in self.operands:
            self._check_operand(operand)
        for dtype in (d for allowed in self.types.values() for d in allowed):
            element_type(dtype)
        self._check_entries()
        self._check_sizes()
        if self.parameters is not None:
            self._check_parameters(self.parameters)

    def _check_source(self) -> None:
        text = self.source
        if isinstance(text, str) and text.endswith((".cu", ".cuh")) and "\n" not in text:
            self._refuse(f"source is CUDA text or a Path; for the file pass Path({text!r})")

    def _check_operand(self, operand: Operand) -> None:
        if operand.intent not in get_args(Intent):
            self._refuse(
                f"intent of {operand.name!r} must be one of {', '.join(get_args(Intent))}, "
                f"got {operand.intent!r}"
            )
        alignment_bytes = operand.alignment_bytes
        if alignment_bytes < 1 or alignment_bytes & (alignment_bytes - 1):
            self._refuse(
                f"alignment_bytes of {operand.name!r} must be a power of two, got {alignment_bytes}"
            )
        if operand.dtype not in self.types:
            element_type(operand.dtype)

    def _check_entries(self) -> None:
        for launch in self.launches:
            try:
                fields = [part[1:] for part in Formatter().parse(launch.entry)]
            except ValueError as error:
                self._refuse(f"entry {launch.entry!r}: {error}; write {{{{ and }}}} for braces")
                return
            for name, form, conversion in fields:
                if name is not None and (not name.isidentifier() or form or conversion):
                    self._refuse(
                        f"entry {launch.entry!r} must name a type or a constant in its braces, "
                        f"got {name!r}"
                    )

    def _check_sizes(self) -> None:
        known = {*self.sizes, *self.given_sizes}
        texts = [*self.symbols.values(), *self.requires]
        texts += [s.value for s in self.scalars if s.value is not None]
        for launch in self.launches:
            if not all(1 <= len(expressions(s)) <= MAX_AXES for s in (launch.grid, launch.block)):
                self._refuse(f"a grid and a block have 1 to {MAX_AXES} sizes, got {launch}")
            texts += [*expressions(launch.grid), *expressions(launch.block)]
            texts.append(str(launch.shared_bytes))
        texts += [t for t in (self.cost.bytes, self.cost.flops) if t is not None]
        for text in texts:
            unknown = sorted(expression(text).names - known)
            if unknown:
                self._refuse(
                    f"{text!r} names {', '.join(unknown)}, which no operand's shape has"
                    f"{suggestion(unknown[0], known)}"
                )
        for name in sorted(set(self.constants) - known):
            self._refuse(
                f"constants must be sizes of operands or symbols; got {name!r}"
                f"{suggestion(name, known)}"
            )

    def _check_parameters(self, parameters: tuple[str, ...]) -> None:
        known = {o.name for o in self.operands} | {s.name for s in self.scalars} | set(self.sizes)
        for name in parameters:
            if name not in known:
                guess = suggestion(name, known)
                self._refuse(f"parameter {name!r} is no operand, scalar or size{guess}")
        pointers = {o.name for o in self.operands if not o.is_variable}
        missing = sorted((pointers | {s.name for s in self.scalars}) - set(parameters))
        if missing:
            self._refuse(f"parameters lack {', '.join(missing)}")

    def _refuse(self, reason: str) -> None:
        raise KernelSourceError(f"kernel {self.name!r}: {reason}")

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Names of all sizes: those that shapes name, in order of appearance, then symbols."""
        axes = [a for o in self.operands for a in o.axes if a.is_name]
        later = {*self.symbols, *self.given_sizes}
        found = dict.fromkeys(a.text for a in axes if a.text not in later)
        return (*found, *self.symbols)

    @cached_property
    def given_sizes(self) -> tuple[str, ...]:
        """Names of the integers that the caller passes."""
        return tuple(s.name for s in self.scalars if s.is_size)

    @cached_property
    def given(self) -> tuple[Operand, ...]:
        """Operands the caller passes, in order."""
        return tuple(o for o in self.operands if o.is_given)

    @property
    def struct_name(self) -> str:
        """C++ name of the generated parameter struct."""
        return "".join(part.capitalize() for part in self.name.split("_")) + "Params"

    def read(self) -> tuple[str, Path | None]:
        """Return the CUDA text and the file it came from."""
        if isinstance(self.source, Path):
            return read_source(self.source), self.source
        return self.source, None


@lru_cache(maxsize=4096)
def _axes(shape: str) -> tuple[Expression, ...]:
    return tuple(expression(axis) for axis in shape.split())


def expressions(sizes: Expressions) -> tuple[str, ...]:
    """Return one text per axis of a grid or block."""
    return tuple(map(str, sizes)) if isinstance(sizes, tuple) else (str(sizes),)
