"""The bytes a kernel is started with: a typed parameter list, or one by-value struct.

The struct is laid out once, here, for both sides: C++ text with asserted offsets, and a numpy
record. One struct costs one pointer per launch, however many operands a kernel has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from paged.kernel.binding import Binding, Number
from paged.kernel.dtypes import element_type
from paged.kernel.launch import Argument, Pointer
from paged.kernel.source import Parameter
from paged.kernel.spec import KernelSpec, Operand

_ADDRESS = "uint64"


@dataclass(frozen=True, slots=True)
class Slot:
    """One value a kernel is passed.

    Attributes:
        cuda: C++ type, with macros for type variables.
        numpy: element type on the host.
        count: number of elements; None for a plain value.
        of: the operand whose address or strides it is; None for numbers and sizes.

    """

    name: str
    cuda: str
    numpy: str
    count: int | None = None
    of: Operand | None = None


@lru_cache(maxsize=1024)
def slots(spec: KernelSpec) -> tuple[Slot, ...]:
    """Return all values the spec's kernels are passed, in struct order.

    Addresses, strides, sizes known only at run time, scalars, sizes that are compiled in.
    """
    return tuple(_slots(spec))


def _slots(spec: KernelSpec) -> Iterator[Slot]:
    passed = [o for o in spec.operands if not o.is_variable]
    for operand in passed:
        if operand.dtype in spec.types:
            element = operand.dtype.upper()
        else:
            element = element_type(operand.dtype).cuda
        const = "const " if operand.intent == "in" else ""
        yield Slot(operand.name, f"{const}{element}*", _ADDRESS, of=operand)
    for operand in passed:
        if operand.strided:
            name = f"{operand.name}_stride"
            yield Slot(name, "long long", "int64", count=len(operand.axes), of=operand)
    for size in spec.sizes:
        if size not in spec.constants:
            yield Slot(size, "int", "int32")
    for scalar in spec.scalars:
        kind = element_type(scalar.dtype)
        yield Slot(scalar.name, kind.cuda, kind.numpy or scalar.dtype)
    # constants as well, for headers shared by kernels read their sizes in the struct
    for size in spec.sizes:
        if size in spec.constants:
            yield Slot(size, "int", "int32")


@lru_cache(maxsize=1024)
def struct_dtype(spec: KernelSpec) -> np.dtype[np.void]:
    """Return the numpy record that the C++ struct equals, byte for byte."""
    fields = [
        (s.name, s.numpy) if s.count is None else (s.name, s.numpy, s.count) for s in slots(spec)
    ]
    return np.dtype(fields, align=True)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the arguments a value begins."""

    argument_index: int
    offset_bytes: int


@lru_cache(maxsize=1024)
def places(spec: KernelSpec) -> Mapping[str, Place]:
    """Return the place of every value that the spec's kernels are passed, in order."""
    if spec.passing == "struct":
        offsets = offsets_bytes(struct_dtype(spec))
        return {name: Place(0, offset) for name, offset in offsets.items()}
    default = [o.name for o in spec.operands if not o.is_variable] + [s.name for s in spec.scalars]
    names = default if spec.parameters is None else spec.parameters
    return {name: Place(i, 0) for i, name in enumerate(names)}


def offsets_bytes(dtype: np.dtype[np.void]) -> dict[str, int]:
    """Return where each field of a record begins."""
    return {str(name): place[1] for name, place in (dtype.fields or {}).items()}


def struct_text(spec: KernelSpec, types: Mapping[str, str]) -> str:
    """Return the C++ struct, with the headers of its types and an assertion for each offset."""
    dtype = struct_dtype(spec)
    name = spec.struct_name
    lines = ["#include <stddef.h>", *headers(spec, types), f"struct {name} {{"]
    lines += [
        f"  {s.cuda} {s.name}{'' if s.count is None else f'[{s.count}]'};" for s in slots(spec)
    ]
    lines.append("};")
    lines += [
        f"static_assert(offsetof({name}, {field}) == {offset}, "
        f'"{name}.{field} lies elsewhere on the host");'
        for field, offset in offsets_bytes(dtype).items()
    ]
    lines.append(f'static_assert(sizeof({name}) == {dtype.itemsize}, "{name} differs in size");')
    return "\n".join(lines) + "\n"


def headers(spec: KernelSpec, types: Mapping[str, str]) -> list[str]:
    """Return include lines for the CUDA types that operands have."""
    names = {types.get(o.dtype, o.dtype) for o in spec.operands}
    found = sorted({h for h in (element_type(n).header for n in names) if h is not None})
    return [f"#include <{header}>" for header in found]


def parameters(spec: KernelSpec, types: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Return what the spec's kernels are passed, with types chosen."""
    if spec.passing == "struct":
        return (Parameter(what="the parameter struct", cuda=spec.struct_name),)
    by_name = {slot.name: slot for slot in slots(spec)}
    return tuple(_parameter(by_name[name], types) for name in places(spec))


def _parameter(slot: Slot, types: Mapping[str, str]) -> Parameter:
    if slot.of is None:
        return Parameter(what=f"{slot.name!r} of {slot.numpy}", cuda=slot.cuda)
    if slot.count is not None:
        return Parameter(what=f"the strides {slot.name!r}", cuda=None)
    dtype = types.get(slot.of.dtype, slot.of.dtype)
    const = "const " if slot.of.intent == "in" else ""
    cuda = f"{const}{element_type(dtype).cuda}*"
    return Parameter(what=f"operand {slot.name!r} of {dtype}", cuda=cuda)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Parameters of a call, for every launch of it, and where addresses lie in them."""

    values: tuple[Argument, ...]
    pointers: tuple[Pointer, ...]


def pack(binding: Binding) -> Arguments:
    """Return the kernel's parameters for one call."""
    if binding.spec.passing == "struct":
        return _pack_struct(binding)
    return _pack_parameters(binding)


def _pack_struct(binding: Binding) -> Arguments:
    record = np.zeros(1, dtype=struct_dtype(binding.spec))
    pointers: list[Pointer] = []
    for slot in slots(binding.spec):
        record[slot.name] = _value(binding, slot)
        pointers += _pointer(binding, slot)
    return Arguments(values=(record,), pointers=tuple(pointers))


def _pack_parameters(binding: Binding) -> Arguments:
    spec = binding.spec
    by_name = {slot.name: slot for slot in slots(spec)}
    values: list[Argument] = []
    pointers: list[Pointer] = []
    for name in places(spec):
        slot = by_name[name]
        values.append(np.array([_value(binding, slot)], dtype=slot.numpy))
        pointers += _pointer(binding, slot)
    return Arguments(values=tuple(values), pointers=tuple(pointers))


def _value(binding: Binding, slot: Slot) -> Number | tuple[int, ...]:
    if slot.of is None:
        number = binding.scalars.get(slot.name)
        # sizes that only absent operands have are 0
        return binding.sizes.get(slot.name, 0) if number is None else number
    tensor = binding.tensors[slot.of.name]
    if slot.count is None:
        return 0 if tensor is None else tensor.data_ptr()
    return (0,) * slot.count if tensor is None else tuple(tensor.stride())


def _pointer(binding: Binding, slot: Slot) -> list[Pointer]:
    if slot.of is None or slot.count is not None:
        return []
    tensor: torch.Tensor | None = binding.tensors[slot.of.name]
    if tensor is None:
        return []
    place = places(binding.spec)[slot.name]
    pointer = Pointer(
        operand=slot.of.name,
        tensor=tensor,
        intent=slot.of.intent,
        argument_index=place.argument_index,
        offset_bytes=place.offset_bytes,
    )
    return [pointer]
