"""A seeded call of an operation with a judgement: what a new kernel is tried on first."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import Number, Outputs
from paged.kernel.call import kernel_call
from paged.kernel.memory import num_spanned
from paged.kernel.op import Op
from paged.kernel.registry import run_reference
from paged.kernel.spec import KernelSpec

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Operands and numbers of one call, and what is to come out.

    Attributes:
        judge: given the call's outputs and then its inout operands, says what is wrong, or None.

    """

    name: str
    operands: tuple[torch.Tensor | None, ...]
    numbers: Mapping[str, Number | None]
    judge: Callable[[Tensors], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one kernel did on one problem."""

    problem: str
    fault: str | None
    wall_s: float


def try_kernel(
    spec: KernelSpec,
    problem: Problem,
    *,
    device: torch.device,
    interpret: InterpretConfig,
) -> Verdict:
    """Run a kernel on a problem's operands, copied to a device, and judge what comes out.

    Raises: all that `kernel_call` raises.
    """
    operands = [None if t is None else copied(t, device) for t in problem.operands]
    begin_s = time.perf_counter()
    is_cpu = device.type == "cpu"
    outputs = kernel_call(
        spec, *operands, interpret=interpret if is_cpu else False, **problem.numbers
    )
    results = tuple(t.cpu() for t in results_of(spec, operands, outputs))
    wall_s = time.perf_counter() - begin_s
    return Verdict(problem=problem.name, fault=problem.judge(results), wall_s=wall_s)


def results_of(
    spec: KernelSpec, operands: Sequence[torch.Tensor | None], outputs: Outputs
) -> Tensors:
    """Return what a call made: its outputs, then its inout operands."""
    made = () if outputs is None else outputs if isinstance(outputs, tuple) else (outputs,)
    given = zip(spec.given, operands, strict=True)
    return made + tuple(t for o, t in given if o.intent == "inout" and t is not None)


def reference_results(
    op: Op, operands: Sequence[torch.Tensor | None], numbers: Mapping[str, Number | None]
) -> Tensors:
    """Return what the reference makes of copies of the operands."""
    copies = [None if t is None else copied(t, t.device) for t in operands]
    return results_of(op.signature, copies, run_reference(op, copies, numbers))


def same_bits(results: Tensors, expected: Tensors) -> str | None:
    """Say where results differ from the expected ones in any bit."""
    for i, (got, exact) in enumerate(zip(results, expected, strict=True)):
        differs = (bits(got) != bits(exact)).flatten(start_dim=1).any(dim=1)
        if differs.any():
            first = int(differs.nonzero()[0])
            return (
                f"result {i} [{', '.join(map(str, got.shape))}] differs in "
                f"{int(differs.sum())} of {len(differs)} entries of axis 0, first in {first}"
            )
    return None


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor's bytes, one row of bytes an element; NaN equals itself there."""
    return tensor.contiguous().view(torch.uint8).reshape(*tensor.shape, tensor.element_size())


def copied(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a tensor with its strides and the gaps between its elements."""
    if tensor.numel() == 0:
        return tensor.to(device, copy=True)
    memory = tensor.as_strided((num_spanned(tensor),), (1,)).to(device, copy=True)
    return memory.as_strided(tensor.shape, tensor.stride())
