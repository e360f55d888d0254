"""An operation that several kernels compute: one signature, one reference, many variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from paged.kernel.binding import Binding, Outputs
from paged.kernel.dtypes import element_type
from paged.kernel.spec import INCLUDE_DIR, KernelSpec, Launch, Operand, Scalar
from paged.kernel.work import Cost

KERNELS_DIR = INCLUDE_DIR.parent


@dataclass(frozen=True, kw_only=True, eq=False)
class Op:
    """What all variants of an operation have in common.

    Attributes:
        name: the operator is `paged::<name>`.
        folder: folder of `kernels_cu/` with the variants' files.
        operands, scalars, types, symbols, requires, cost: as in `KernelSpec`; a variant's file
            may add symbols, requirements and workspaces, and narrow types.
        reference: the operation in torch, computed in float64 where values are rounded, with
            the operator's arguments: operands by position, numbers by keyword.
        device_hint: as in `KernelSpec`.
        choose: name of the variant that serves a call on a GPU when the caller names none.

    """

    name: str
    folder: str
    summary: str
    operands: tuple[Operand, ...]
    scalars: tuple[Scalar, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    symbols: Mapping[str, str] = field(default_factory=dict[str, str])
    requires: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    reference: Callable[..., Outputs]
    choose: Callable[[Binding], str]
    device_hint: str = ""

    @property
    def variants_dir(self) -> Path:
        """Where the shipped variants lie."""
        return KERNELS_DIR / self.folder

    @cached_property
    def signature(self) -> KernelSpec:
        """The operation as a spec without a kernel: for checks, output shapes and the schema."""
        return KernelSpec(
            name=self.name,
            source="",
            launches=(Launch(entry=self.name, grid=0, block=1),),
            operands=self.operands,
            scalars=self.scalars,
            types=self.types,
            symbols=self.symbols,
            requires=self.requires,
            passing="struct",
            cost=self.cost,
            summary=self.summary,
            device_hint=self.device_hint,
        )

    @property
    def schema(self) -> str:
        """The operator's signature, as `torch.library` reads it."""
        return schema(self.signature)


def schema(spec: KernelSpec) -> str:
    """Return a spec's torch schema: given operands by position, numbers by keyword."""
    required = [i for i, o in enumerate(spec.given) if not o.is_optional]
    last = max(required, default=-1)
    arguments = [_operand_schema(i, o, i > last) for i, o in enumerate(spec.given)]
    numbers = [_scalar_schema(s) for s in spec.scalars if s.is_given]
    if numbers:
        arguments += ["*", *numbers]
    outputs = ["Tensor" for o in spec.operands if o.intent == "out"]
    returns = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"{spec.name}({', '.join(arguments)}) -> {returns}"


def _operand_schema(index: int, operand: Operand, may_end_before: bool) -> str:
    alias = f"(a{index}!)" if operand.intent == "inout" else ""
    default = "=None" if may_end_before else ""
    return f"Tensor{alias}{'?' if operand.is_optional else ''} {operand.name}{default}"


def _scalar_schema(scalar: Scalar) -> str:
    dtype = element_type(scalar.dtype).torch
    kind = "bool" if dtype == torch.bool else "float" if dtype.is_floating_point else "int"
    if scalar.absent is not None:
        return f"{kind}? {scalar.name}=None"
    if scalar.default is not None:
        default = bool(scalar.default) if kind == "bool" else scalar.default
        return f"{kind} {scalar.name}={default}"
    return f"{kind} {scalar.name}"
