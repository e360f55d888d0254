"""Call a specified kernel on tensors, on a GPU or in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch

from paged.errors import KernelSourceError, OperandError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.binding import Binding, Number, bind
from paged.kernel.instance import instantiate, requests
from paged.kernel.launch import Backend, Program
from paged.kernel.spec import KernelSpec

FileStamp = tuple[Path, int, int]
BuildKey = tuple[tuple[tuple[str, str], ...], tuple[int, ...]]


def kernel_call(
    spec: KernelSpec,
    *operands: torch.Tensor | None,
    interpret: bool | InterpretConfig = False,
    **scalars: Number | None,
) -> torch.Tensor | tuple[torch.Tensor, ...] | None:
    """Run a kernel on tensors and return its outputs.

    The `in` and `inout` operands are passed in the spec's order, None for an optional one that
    is left out; numbers go by keyword. With `interpret`, the CUDA source is compiled for the CPU
    and run on CPU tensors; else it runs on the tensors' GPU, on torch's current stream.

    Mutates: inout operands.
    Returns: None, one tensor or a tuple, after the number of `out` operands.
    Raises: OperandError for operands that do not match; KernelSourceError, KernelCompileError,
        UnsupportedFeature and KernelRunError for the kernel's faults; BackendUnavailable.
    Source: `jax.experimental.pallas.pallas_call`, for the form of the call.
    """
    binding = bind(spec, operands, scalars)
    backend = backend_for(spec, operands, interpret)
    kernel_for(spec, backend).run(binding)
    outputs = binding.outputs
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else outputs


def backend_for(
    spec: KernelSpec,
    operands: Sequence[torch.Tensor | None],
    interpret: bool | InterpretConfig,
) -> Backend:
    """Return the backend for tensors of this device."""
    device = next((t.device for t in operands if t is not None), torch.device("cpu"))
    if interpret is not False:
        if device.type != "cpu":
            raise OperandError(
                f"{spec.name}: the interpreter runs on CPU tensors, got {device}; pass .cpu()"
            )
        return interpreter(InterpretConfig() if interpret is True else interpret)
    if device.type != "cuda":
        raise OperandError(
            f"{spec.name}: expected tensors on a CUDA device, got {device}; "
            f"pass interpret=True to run the kernel on the CPU"
        )
    return cuda_backend()


@lru_cache(maxsize=32)
def interpreter(config: InterpretConfig) -> InterpretBackend:
    """Return the interpreter with this configuration, the same one each time."""
    return InterpretBackend(config)


@lru_cache(maxsize=1)
def cuda_backend() -> Backend:
    """Return the CUDA backend. Raises BackendUnavailable without CuPy or a device."""
    from paged.kernel.backends.cuda import CudaBackend

    return CudaBackend()


@lru_cache(maxsize=1024)
def kernel_for(spec: KernelSpec, backend: Backend) -> Kernel:
    """Return the kernel of a spec on a backend, the same one each time."""
    return Kernel(spec, backend)


class Kernel:
    """A spec on one backend, with the programs built so far.

    A changed source file or header takes effect at the next run.
    """

    def __init__(self, spec: KernelSpec, backend: Backend) -> None:
        self.spec = spec
        self.backend = backend
        self._programs: dict[BuildKey, Program] = {}
        self._stamps: tuple[FileStamp, ...] = ()

    def run(self, binding: Binding) -> None:
        """Launch on bound operands. Mutates inout, out and workspace tensors."""
        launches = requests(binding)
        program = self.program(binding)
        for operand in self.spec.operands:
            tensor = binding.tensors[operand.name]
            if operand.is_variable and tensor is not None:
                program.write_variable(operand.name, tensor.cpu().numpy())
        for launch in launches:
            if not launch.is_empty:
                program.launch(launch)

    def program(self, binding: Binding) -> Program:
        """Return the program for a call's types and constants; compile it where it is new."""
        if self._stamps and self._stamps != _stamps([path for path, _, _ in self._stamps]):
            self._programs.clear()
        key = (
            tuple(binding.types.items()),
            tuple(binding.sizes[name] for name in self.spec.constants),
        )
        if key not in self._programs:
            source = instantiate(self.spec, binding.types, binding.sizes)
            stamps = _stamps(source.files)
            self._programs[key] = self.backend.build(source)
            self._stamps = stamps
        return self._programs[key]


def _stamps(paths: Sequence[Path]) -> tuple[FileStamp, ...]:
    try:
        stats = [(path, path.stat()) for path in paths]
    except OSError as error:
        raise KernelSourceError(f"cannot read kernel source: {error}") from error
    return tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in stats)
