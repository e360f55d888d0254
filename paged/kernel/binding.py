"""Match tensors and numbers against a `KernelSpec`, or say which operand is wrong and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch

from paged.errors import KernelSourceError, OperandError
from paged.kernel.dtypes import element_type, name_of
from paged.kernel.expression import Expression, expression
from paged.kernel.spec import KernelSpec, Operand, Scalar
from paged.kernel.suggestion import suggestion
from paged.kernel.tensor_kind import kind_fault

INT32_MAX = 2**31 - 1

Number = int | float | bool

Outputs = torch.Tensor | tuple[torch.Tensor, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The sizes, types, tensors and numbers of one call.

    Attributes:
        sizes: every size of the spec.
        types: dtype name of each type variable.
        tensors: every operand, None where an optional one was left out.
        scalars: every scalar.

    """

    spec: KernelSpec
    sizes: Mapping[str, int]
    types: Mapping[str, str]
    tensors: Mapping[str, torch.Tensor | None]
    scalars: Mapping[str, Number]

    @property
    def outputs(self) -> tuple[torch.Tensor, ...]:
        """Tensors with intent out, in order."""
        outs = (self.tensors[o.name] for o in self.spec.operands if o.intent == "out")
        return tuple(t for t in outs if t is not None)


def is_open(value: object) -> bool:
    """Return whether a trace leaves a number open, for any value to come."""
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def padded(
    spec: KernelSpec, operands: Sequence[torch.Tensor | None]
) -> tuple[torch.Tensor | None, ...]:
    """Return a call's operands with None for the last ones, where the caller left them out."""
    return (*operands, *(None,) * (len(spec.given) - len(operands)))


def returned(outputs: Sequence[torch.Tensor]) -> Outputs:
    """Return what a call with these outputs gives its caller."""
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def bind(
    spec: KernelSpec,
    operands: Sequence[torch.Tensor | None],
    scalars: Mapping[str, Number | None],
) -> Binding:
    """Check a call's operands and numbers, and allocate its outputs and workspaces.

    Works on meta and fake tensors as well: only shapes, strides, dtypes and devices are looked at.
    Sizes that a trace leaves open (`torch.SymInt`) stay so: their ranges and requirements are
    checked when the kernel runs, for a check now would pin them to this call's.

    Raises: OperandError, which names the operand, the axis or size, expected and got.
    """
    matcher = _Matcher(spec)
    matcher.refuse_unknown(scalars)
    if len(operands) != len(spec.given):
        names = ", ".join(o.name for o in spec.given)
        matcher.refuse(f"expected {len(spec.given)} operands ({names}), got {len(operands)}")
    for operand, tensor in zip(spec.given, operands, strict=True):
        matcher.match(operand, tensor)
    given = {s.name: matcher.number(s, scalars) for s in spec.scalars if s.is_given}
    matcher.sizes |= {name: cast("int", given[name]) for name in spec.given_sizes}
    matcher.derive()
    derived = {s.name: matcher.number(s, scalars) for s in spec.scalars if not s.is_given}
    numbers = {s.name: {**given, **derived}[s.name] for s in spec.scalars}
    for operand in spec.operands:
        if not operand.is_given:
            matcher.allocate(operand)
    tensors = {o.name: matcher.tensors[o.name] for o in spec.operands}
    return Binding(
        spec=spec, sizes=matcher.sizes, types=matcher.types, tensors=tensors, scalars=numbers
    )


@dataclass(slots=True)
class _Matcher:
    """Sizes and types found so far, and which operand gave each."""

    spec: KernelSpec
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    types: dict[str, str] = field(default_factory=dict[str, str])
    tensors: dict[str, torch.Tensor | None] = field(
        default_factory=dict[str, "torch.Tensor | None"]
    )
    _giver: dict[str, str] = field(default_factory=dict[str, str])
    _device: torch.device | None = None
    _late: list[tuple[Operand, int]] = field(default_factory=list[tuple[Operand, int]])

    def refuse(self, reason: str) -> None:
        raise OperandError(f"{self.spec.name}: {reason}")

    def refuse_unknown(self, numbers: Mapping[str, Number | None]) -> None:
        settable = [s.name for s in self.spec.scalars if s.is_given]
        unknown = sorted(set(numbers) - set(settable))
        if not unknown:
            return
        name = unknown[0]
        if any(name == operand.name for operand in self.spec.given):
            names = ", ".join(operand.name for operand in self.spec.given)
            self.refuse(f"operand {name!r} came by name; pass operands by position: {names}")
        if name in self.spec.sizes:
            self.refuse(f"size {name!r} follows from the operands; it is not passed")
        takes = ", ".join(settable) or "none"
        self.refuse(f"got unknown number {name!r}; it takes {takes}{suggestion(name, settable)}")

    def match(self, operand: Operand, tensor: torch.Tensor | None) -> None:
        self.tensors[operand.name] = tensor
        if tensor is None:
            if not operand.is_optional:
                self.refuse(f"operand {operand.name!r} is required, got None")
            return
        fault = kind_fault(tensor)
        if fault is not None:
            self.refuse(f"operand {operand.name!r} {fault}")
        self._match_dtype(operand, tensor)
        self._match_device(operand, tensor)
        axes = operand.axes
        if tensor.dim() != len(axes):
            self.refuse(
                f"operand {operand.name!r} must have {len(axes)} axes [{operand.shape}], "
                f"got {tensor.dim()}: shape {tuple(tensor.shape)}"
            )
        for i, axis in enumerate(axes):
            if axis.is_name and axis.text in self.spec.sizes and axis.text not in self.spec.symbols:
                self._match_size(operand, axis.text, i, tensor.shape[i])
            else:
                self._late.append((operand, i))
        self._match_strides(operand, tensor)

    def _match_dtype(self, operand: Operand, tensor: torch.Tensor) -> None:
        got = name_of(tensor.dtype)
        allowed = self.spec.types.get(operand.dtype, (operand.dtype,))
        if got not in allowed:
            self.refuse(f"operand {operand.name!r} must be {' or '.join(allowed)}, got {got}")
        if operand.dtype not in self.spec.types:
            return
        expected = self.types.setdefault(operand.dtype, got)
        giver = self._giver.setdefault(operand.dtype, operand.name)
        if got != expected:
            self.refuse(
                f"operand {operand.name!r} must be {expected} ({operand.dtype}), as operand "
                f"{giver!r} is, got {got}"
            )

    def _match_device(self, operand: Operand, tensor: torch.Tensor) -> None:
        if self._device is None:
            self._device = tensor.device
            self._giver["device"] = operand.name
        elif tensor.device != self._device:
            hint = self.spec.device_hint and f"; {self.spec.device_hint}"
            self.refuse(
                f"operand {operand.name!r} must be on {self._device}, as operand "
                f"{self._giver['device']!r} is, got {tensor.device}{hint}"
            )

    def _match_size(self, operand: Operand, name: str, axis: int, got: int) -> None:
        expected = self.sizes.setdefault(name, got)
        giver = self._giver.setdefault(name, operand.name)
        if got != expected:
            self.refuse(
                f"axis {axis} ({name}) of operand {operand.name!r} must be {expected}, as in "
                f"operand {giver!r}, got {got}"
            )

    def _match_strides(self, operand: Operand, tensor: torch.Tensor) -> None:
        if tensor.numel() == 0:
            return
        if not operand.strided:
            if not tensor.is_contiguous():
                self.refuse(
                    f"operand {operand.name!r} must be contiguous, got strides "
                    f"{tensor.stride()} for shape {tuple(tensor.shape)}; pass .contiguous()"
                )
        elif tensor.dim() and tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            self.refuse(
                f"the last axis of operand {operand.name!r} must have stride 1, got "
                f"{tensor.stride(-1)}; pass .contiguous()"
            )
        else:
            self._match_alignment(operand, tensor)

    def _match_alignment(self, operand: Operand, tensor: torch.Tensor) -> None:
        item_bytes = tensor.element_size()
        for size, stride in list(zip(tensor.shape, tensor.stride(), strict=True))[:-1]:
            if is_open(stride) or is_open(size):
                continue
            if size > 1 and stride * item_bytes % operand.alignment_bytes:
                self.refuse(
                    f"strides of operand {operand.name!r} must be multiples of "
                    f"{operand.alignment_bytes} bytes, got {tensor.stride()} elements of "
                    f"{item_bytes} bytes; pad its rows, or pass .contiguous()"
                )

    def derive(self) -> None:
        """Compute the symbols, then check the axes and conditions that depend on them."""
        for name, text in self.spec.symbols.items():
            self.sizes[name] = self._evaluate(expression(text))
        for operand, axis in self._late:
            tensor = self.tensors[operand.name]
            expected = self._evaluate(operand.axes[axis])
            if tensor is not None and tensor.shape[axis] != expected:
                self.refuse(
                    f"axis {axis} ({operand.axes[axis].text}) of operand {operand.name!r} must be "
                    f"{expected}, got {tensor.shape[axis]}"
                )
        for name in self.spec.sizes:
            size = self.sizes.get(name, 0)
            if not is_open(size) and not -INT32_MAX <= size <= INT32_MAX:
                self.refuse(f"size {name} must fit in 32 bits, got {size}")
        for text in self.spec.requires:
            condition = expression(text)
            if any(is_open(self.sizes.get(name)) for name in condition.names):
                continue
            if not self._evaluate(condition):
                got = ", ".join(f"{n} = {self.sizes[n]}" for n in sorted(condition.names))
                self.refuse(f"requires {text}, got {got}")

    def _evaluate(self, size: Expression) -> int:
        try:
            return size.evaluate(self.sizes)
        except KernelSourceError as error:
            raise OperandError(f"{self.spec.name}: {error}") from error

    def allocate(self, operand: Operand) -> None:
        """Make the tensor of an output or a workspace, its contents undefined."""
        if self._device is None:
            self.refuse("expected at least one tensor, to know the device of its outputs")
        dtype = self.types.get(operand.dtype, operand.dtype)
        if dtype in self.spec.types:
            self.refuse(f"no operand says what {operand.dtype} of output {operand.name!r} is")
        shape = [self._evaluate(axis) for axis in operand.axes]
        for axis, size in zip(operand.axes, shape, strict=True):
            if not is_open(size) and size < 0:
                self.refuse(
                    f"axis {axis.text} of {operand.intent} {operand.name!r} must be at least 0, "
                    f"got {size}"
                )
        self.tensors[operand.name] = torch.empty(
            shape, dtype=element_type(dtype).torch, device=self._device
        )

    def number(self, scalar: Scalar, given: Mapping[str, Number | None]) -> Number:
        """Return a scalar's value, checked against its dtype."""
        if scalar.value is not None:
            value: Number | None = self._evaluate(expression(scalar.value))
        else:
            value = given.get(scalar.name, scalar.default)
        if value is None:
            value = scalar.absent
        if value is None:
            raise OperandError(f"{self.spec.name}: number {scalar.name!r} is required, got None")
        if is_open(value):
            return value
        if not hasattr(value, "__float__"):
            self.refuse(f"number {scalar.name!r} must be an {scalar.dtype}, got {value!r}")
        dtype = element_type(scalar.dtype).torch
        if not dtype.is_floating_point and dtype != torch.bool:
            limits = torch.iinfo(dtype)
            if not limits.min <= value <= limits.max or value != int(value):
                self.refuse(f"number {scalar.name!r} must be an {scalar.dtype}, got {value}")
            value = int(value)
        is_present = given.get(scalar.name) is not None
        if is_present and scalar.above is not None and not value > scalar.above:
            instead = "" if scalar.absent is None else "; pass None to do without"
            self.refuse(
                f"number {scalar.name!r} must be above {scalar.above}, got {value}{instead}"
            )
        return value
