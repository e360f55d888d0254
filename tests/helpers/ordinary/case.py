"""A kernel call with what it must give, and how results are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import torch

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import Number
from paged.kernel.call import kernel_call
from paged.kernel.spec import KernelSpec

KERNELS_DIR = Path(__file__).resolve().parents[2] / "kernels_cu"

Results = dict[str, torch.Tensor]
Cases = Iterator["Case"]


class Expectation(Protocol):
    """What one result must be."""

    def check(self, what: str, got: torch.Tensor) -> None:
        """Fail with `what` in the message unless the result is as expected."""
        ...


@dataclass(frozen=True, slots=True)
class Exact:
    """Every bit as given."""

    expected: torch.Tensor

    def check(self, what: str, got: torch.Tensor) -> None:
        assert got.dtype == self.expected.dtype, f"{what}: {got.dtype}"
        assert got.shape == self.expected.shape, f"{what}: {tuple(got.shape)}"
        if not same_bits(got, self.expected):
            torch.testing.assert_close(got.double(), self.expected.double(), rtol=0, atol=0)
            raise AssertionError(f"{what}: bits differ: {got} {self.expected}")


@dataclass(frozen=True, slots=True)
class Near:
    """Within `atol + rtol * |expected|` of float64 values, NaN nowhere unless expected."""

    expected: torch.Tensor
    rtol: float
    atol: float = 0.0

    def check(self, what: str, got: torch.Tensor) -> None:
        torch.testing.assert_close(
            got.double(),
            self.expected.double(),
            rtol=self.rtol,
            atol=self.atol,
            equal_nan=True,
            msg=lambda text: f"{what}: {text}",
        )


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """The given values first, in any order; what follows is not looked at."""

    expected: torch.Tensor

    def check(self, what: str, got: torch.Tensor) -> None:
        kept = got[: self.expected.numel()].sort().values
        assert torch.equal(kept, self.expected.sort().values), f"{what}: {kept}"


@dataclass(frozen=True, slots=True)
class Tail:
    """The last values, bit for bit; what precedes them is not looked at."""

    expected: torch.Tensor

    def check(self, what: str, got: torch.Tensor) -> None:
        Exact(self.expected).check(what, got[len(got) - len(self.expected) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of a kernel.

    Attributes:
        operands: given tensors in the spec's order.
        expected: for each result that is checked, what it must be.
        repeats: whether every order of lanes and blocks gives the same bits.

    """

    label: str
    spec: KernelSpec
    operands: tuple[torch.Tensor | None, ...]
    numbers: Mapping[str, Number] = field(default_factory=dict[str, Number])
    expected: Mapping[str, Expectation]
    repeats: bool = True

    def check(self, results: Results) -> None:
        """Compare the results of a run with what is expected."""
        for name, expectation in self.expected.items():
            expectation.check(f"{self.spec.name} {self.label}: {name}", results[name])


def run(case: Case, config: InterpretConfig | None) -> Results:
    """Call the kernel on copies of the operands and return its out and inout tensors.

    It runs in the interpreter as configured, or on the GPU for None; results are on the CPU.
    """
    device = "cuda" if config is None else "cpu"
    operands = [copied(operand, device) for operand in case.operands]
    returned = kernel_call(case.spec, *operands, interpret=config or False, **case.numbers)
    outs = (returned,) if isinstance(returned, torch.Tensor) else returned or ()
    names = [o.name for o in case.spec.operands if o.intent == "out"]
    results = dict(zip(names, outs, strict=True))
    for operand, tensor in zip(case.spec.given, operands, strict=True):
        if operand.intent == "inout" and tensor is not None:
            results[operand.name] = tensor
    return {name: tensor.cpu() for name, tensor in results.items()}


def copied(tensor: torch.Tensor | None, device: str) -> torch.Tensor | None:
    """Return a copy that is as far from a 16-byte boundary as the original."""
    if tensor is None:
        return None
    shift = tensor.data_ptr() % 16 // tensor.itemsize
    room = torch.empty(shift + tensor.numel(), dtype=tensor.dtype, device=device)
    return room[shift:].view(tensor.shape).copy_(tensor)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Say whether two tensors hold the same bytes, NaN and signs of zero included."""
    return torch.equal(_bytes(a), _bytes(b))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    # careful: an empty tensor may have strides that a view refuses
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)
    return flat.copy_(tensor.flatten()).view(torch.uint8)


def source(name: str) -> Path:
    """Return the path of an ordinary kernel's file."""
    return KERNELS_DIR / "ordinary" / f"{name}.cu"


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Return seeded samples of the standard normal distribution."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def integers(
    low: int, high: int, *shape: int, dtype: torch.dtype = torch.int32, seed: int = 0
) -> torch.Tensor:
    """Return seeded integers of [low, high)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)
