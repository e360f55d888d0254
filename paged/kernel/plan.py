"""What repeats between calls of a kernel, computed once: output shapes, geometry, arguments.

A call adds its addresses and the numbers that shape nothing, written into copies of the plan's
arguments: calls on several threads share nothing that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from operator import itemgetter
from struct import Struct

import numpy as np
import torch

from paged.kernel.address_check import AddressCheck, address_check
from paged.kernel.binding import Binding, Number
from paged.kernel.launch import Argument, Extent, Intent, LaunchRequest, Pointer
from paged.kernel.record import Place, places, slots
from paged.kernel.spec import KernelSpec

Build = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, int], ...]]
"""What decides a program: dtypes of type variables, then constants, each with its name."""


# not frozen, as LaunchRequest: every call makes one
@dataclass(slots=True, kw_only=True)
class ReadyCall:
    """A call that was checked, with its outputs allocated and its arguments packed.

    Attributes:
        variables: the operands that are read from a variable, by its name.

    """

    build: Build
    outputs: tuple[torch.Tensor, ...]
    variables: Mapping[str, torch.Tensor]
    launches: Sequence[LaunchRequest]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    """Values that lie side by side in an argument: one packing for all of them."""

    place: Place
    pack: Struct
    pick: Callable[[Sequence[Number]], tuple[Number, ...]]

    def into(self, arguments: Sequence[Argument], values: Sequence[Number]) -> None:
        """Write the values that are its own. Mutates: the arguments."""
        buffer = arguments[self.place.argument_index].data
        self.pack.pack_into(buffer, self.place.offset_bytes, *self.pick(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allocation:
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A pointer before its tensor is known; `index` is that of the tensor."""

    index: int
    operand: str
    intent: Intent
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A launch before its arguments and tensors are known."""

    entry: str
    grid: Extent
    block: Extent
    shared_bytes: int
    targets: tuple[_Target, ...]


@dataclass(slots=True)
class _Pointers:
    """The pointers of a launch, made when asked for: a GPU's backend looks at the first only."""

    targets: tuple[_Target, ...]
    tensors: Sequence[torch.Tensor]

    def __iter__(self) -> Iterator[Pointer]:
        for target in self.targets:
            yield Pointer(
                operand=target.operand,
                tensor=self.tensors[target.index],
                intent=target.intent,
                argument_index=target.place.argument_index,
                offset_bytes=target.place.offset_bytes,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A call without its tensors and its late numbers. It holds no memory of a call.

    Attributes:
        sizes, types, scalars: as in `Binding`; those of late numbers are another call's.
        addresses: writes of those of the tensors given, without absent ones, then those allocated.
        numbers: writes of the late numbers, in the order that `ready` is given them.

    """

    build: Build
    device: torch.device | None
    sizes: Mapping[str, int]
    types: Mapping[str, str]
    scalars: Mapping[str, Number]
    allocations: tuple[_Allocation, ...]
    outputs: tuple[int, ...]
    variables: Mapping[str, int]
    arguments: tuple[Argument, ...]
    addresses: tuple[_Write, ...]
    numbers: tuple[_Write, ...]
    starts: tuple[_Start, ...]
    check: AddressCheck

    def ready(
        self, operands: Iterable[torch.Tensor | None], numbers: Sequence[Number]
    ) -> ReadyCall | None:
        """Return a call on these operands, which must be like those of the plan.

        None where their memory is doubtful, as `check_memory` may find or not.
        """
        tensors = [tensor for tensor in operands if tensor is not None]
        tensors += [
            torch.empty_strided(new.shape, new.stride, dtype=new.dtype, device=new.device)
            for new in self.allocations
        ]
        try:
            addresses = [tensor.data_ptr() for tensor in tensors]
        except RuntimeError:  # torch's own, of tensors without storage
            return None
        if self.check.is_doubtful(addresses):
            return None
        arguments = tuple([argument.copy() for argument in self.arguments])
        for write in self.addresses:
            write.into(arguments, addresses)
        for write in self.numbers:
            write.into(arguments, numbers)
        return ReadyCall(
            build=self.build,
            outputs=tuple([tensors[i] for i in self.outputs]),
            variables={name: tensors[i] for name, i in self.variables.items()},
            launches=[
                LaunchRequest(
                    entry=start.entry,
                    grid=start.grid,
                    block=start.block,
                    shared_bytes=start.shared_bytes,
                    arguments=arguments,
                    pointers=_Pointers(start.targets, tensors),
                    device=self.device,
                )
                for start in self.starts
            ],
        )


def build_of(binding: Binding) -> Build:
    """Return what the program of a call is built for."""
    constants = tuple((name, binding.sizes[name]) for name in binding.spec.constants)
    return tuple(binding.types.items()), constants


def ready_call(binding: Binding, launches: Sequence[LaunchRequest]) -> ReadyCall:
    """Return a bound call with its launches, as a plan would."""
    named = ((o.name, binding.tensors[o.name]) for o in binding.spec.operands if o.is_variable)
    return ReadyCall(
        build=build_of(binding),
        outputs=binding.outputs,
        variables={name: tensor for name, tensor in named if tensor is not None},
        launches=[launch for launch in launches if not launch.is_empty],
    )


def plan_of(binding: Binding, launches: Sequence[LaunchRequest], late_names: Sequence[str]) -> Plan:
    """Return the plan of a bound call and all calls like it.

    Shapes: `late_names` are the numbers that each call writes, in the order it gives them.
    """
    spec = binding.spec
    present = {name: t for name, t in binding.tensors.items() if t is not None}
    given = [o.name for o in spec.given if o.name in present]
    allocated = [o.name for o in spec.operands if not o.is_given]
    index_of = {name: index for index, name in enumerate(given + allocated)}
    starts = tuple(_start(launch, index_of) for launch in launches)
    return Plan(
        build=build_of(binding),
        device=next((tensor.device for tensor in present.values()), None),
        sizes=binding.sizes,
        types=binding.types,
        scalars=binding.scalars,
        allocations=tuple(_allocation(present[name]) for name in allocated),
        outputs=tuple(index_of[o.name] for o in spec.operands if o.intent == "out"),
        variables={
            o.name: index_of[o.name] for o in spec.operands if o.is_variable and o.name in present
        },
        arguments=tuple(
            np.frombuffer(argument.tobytes(), np.uint8) for argument in launches[0].arguments
        ),
        addresses=_writes([(t.place, "Q", t.index) for t in starts[0].targets]),
        numbers=_number_writes(spec, late_names),
        starts=tuple(start for start in starts if 0 not in start.grid),
        check=address_check(spec, {name: present[name] for name in index_of}),
    )


def _allocation(tensor: torch.Tensor) -> _Allocation:
    return _Allocation(
        shape=tuple(tensor.shape),
        stride=tensor.stride(),
        dtype=tensor.dtype,
        device=tensor.device,
    )


def _start(launch: LaunchRequest, index_of: Mapping[str, int]) -> _Start:
    return _Start(
        entry=launch.entry,
        grid=launch.grid,
        block=launch.block,
        shared_bytes=launch.shared_bytes,
        targets=tuple(
            _Target(
                index=index_of[pointer.operand],
                operand=pointer.operand,
                intent=pointer.intent,
                place=Place(pointer.argument_index, pointer.offset_bytes),
            )
            for pointer in launch.pointers
        ),
    )


def _number_writes(spec: KernelSpec, names: Sequence[str]) -> tuple[_Write, ...]:
    at = places(spec)
    kinds = {slot.name: np.dtype(slot.numpy).char for slot in slots(spec)}
    # numpy's names for 64 bits mean 32 in a packing without padding
    codes = {name: {"l": "q", "L": "Q"}.get(kind, kind) for name, kind in kinds.items()}
    return _writes([(at[name], codes[name], index) for index, name in enumerate(names)])


def _writes(values: Sequence[tuple[Place, str, int]]) -> tuple[_Write, ...]:
    """Return writes of values, each with its place, `struct` code and index."""
    runs: list[list[tuple[Place, str, int]]] = []
    end: Place | None = None
    for place, code, index in sorted(values, key=lambda value: astuple(value[0])):
        if place != end:
            runs.append([])
        runs[-1].append((place, code, index))
        end = replace(place, offset_bytes=place.offset_bytes + Struct(f"={code}").size)
    return tuple(
        _Write(
            place=run[0][0],
            pack=Struct("=" + "".join(code for _, code, _ in run)),
            pick=_picker([index for _, _, index in run]),
        )
        for run in runs
    )


def _picker(indices: Sequence[int]) -> Callable[[Sequence[Number]], tuple[Number, ...]]:
    """Return a function that gives the values of these indices, the fastest one that there is."""
    first, *others = indices
    return itemgetter(first, *others) if others else lambda values: (values[first],)
