"""What a backend is handed: one compiled entry, its geometry and its argument bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

    from paged.kernel.source import KernelSource

Extent = tuple[int, int, int]
"""Sizes along x, y and z of a grid (in blocks) or of a block (in threads)."""

Intent = Literal["in", "out", "inout", "workspace"]
"""What a kernel does with an operand. *out* and *workspace* start with undefined contents."""

Argument = npt.NDArray[Any]
"""One kernel parameter: a writable array of one element whose bytes are the parameter."""


# not frozen: freezing more than doubles the time to make one, and every launch makes some
@dataclass(slots=True, kw_only=True)
class Pointer:
    """A tensor, and where in the arguments the address of its first element lies.

    Attributes:
        operand: name of the operand, for errors.
        tensor: any strides; its memory is the extent from its first to its last element.
        argument_index: which argument holds the address.
        offset_bytes: where in that argument the eight bytes of the address begin.

    """

    operand: str
    tensor: torch.Tensor
    intent: Intent
    argument_index: int
    offset_bytes: int


@dataclass(slots=True, kw_only=True)
class LaunchRequest:
    """One launch of one entry of a program.

    Attributes:
        entry: one of the entries the program was built for.
        arguments: one array a kernel parameter, in order; addresses are already in them.
        pointers: every tensor the kernel may touch through its arguments, for as many
            iterations as wanted.
        device: where the operands lie, if the caller knows; else the pointers tell.
        shared_bytes: dynamic shared memory of one block.

    """

    entry: str
    grid: Extent
    block: Extent
    shared_bytes: int
    arguments: tuple[Argument, ...]
    pointers: Iterable[Pointer]
    device: torch.device | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the grid has no block, so that there is nothing to run."""
        return 0 in self.grid


class Program(Protocol):
    """Compiled kernels of one source, ready to run."""

    def launch(self, request: LaunchRequest) -> None:
        """Run one entry. Mutates the out, inout and workspace tensors of the request.

        Raises KernelRunError where the kernel crashes, deadlocks, fails an assertion or does
        not end; the caller's tensors are then unchanged where the backend isolates launches.
        """
        ...

    def write_variable(self, name: str, value: npt.NDArray[Any]) -> None:
        """Set a `__device__` or `__constant__` variable at namespace scope.

        The value is copied before the call returns, and later launches see it. Raises
        OperandError where the source has no such variable, or where its size in bytes differs.
        """
        ...

    def copy_to_variable(self, name: str, source: torch.Tensor) -> None:
        """Set such a variable on the tensor's device to the bytes of a tensor.

        Happens in the order of launches on that device, so that nothing waits. Raises
        OperandError as `write_variable` does.
        """
        ...

    def read_variable(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        """Return a copy of such a variable, as earlier launches left it.

        Raises OperandError as `write_variable` does.
        """
        ...


class Backend(Protocol):
    """A way to compile and run CUDA sources."""

    @property
    def name(self) -> str:
        """Return what the backend is called on command lines and in results."""
        ...

    def build(self, source: KernelSource) -> Program:
        """Compile a source, or find it compiled.

        Raises KernelCompileError with the compiler's own text, and UnsupportedFeature where
        the source uses by name what this backend cannot run.
        """
        ...


def one(value: object, dtype: npt.DTypeLike) -> Argument:
    """Return a scalar as a kernel argument."""
    return np.array([value], dtype=dtype)
