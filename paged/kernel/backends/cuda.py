"""Run kernels on NVIDIA GPUs: NVRTC's cubins, launched through CuPy on torch's streams."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from contextlib import nullcontext
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from paged.errors import BackendUnavailable, KernelRunError, OperandError
from paged.kernel import cubin_cache, nvrtc
from paged.kernel.backends.cuda_driver import CupyDriver, Driver
from paged.kernel.elf import mangled, variable_sizes_bytes
from paged.kernel.launch import Argument, LaunchRequest
from paged.kernel.nvrtc import Cubin
from paged.kernel.resources import resources
from paged.kernel.source import KernelSource


# no equality: every call looks its kernel up by the backend
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CudaBackend:
    """Compiles for the architecture of each device, and launches without synchronising.

    Raises BackendUnavailable where CuPy, torch's CUDA build, NVRTC or a device is missing.
    """

    driver: Driver = field(default_factory=CupyDriver)
    name: str = "cuda"

    def build(self, source: KernelSource) -> CudaProgram:
        """Compile for the current device and load there, so that launches can be captured.

        Raises KernelCompileError with the compiler's log; BackendUnavailable without NVRTC.
        """
        program = CudaProgram(source, self.driver)
        program.load(self.driver.current_device())
        return program


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A kernel loaded on one device."""

    handle: int
    max_dynamic_shared_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A program on one device."""

    module: object
    functions: dict[str, Function]
    variable_sizes_bytes: dict[str, int]


class CudaProgram:
    """Kernels of one source, loaded on each device where they were launched."""

    def __init__(self, source: KernelSource, driver: Driver) -> None:
        self._source = source
        self._driver = driver
        self._loaded: dict[int, Loaded] = {}
        self._written: dict[str, bytes] = {}

    def launch(self, request: LaunchRequest) -> None:
        """Enqueue one entry on torch's current stream of the operands' device.

        Nothing is allocated or waited for once the program is loaded on the device. Mutates,
        in stream order, the out, inout and workspace tensors. Raises KernelRunError where CUDA
        refuses the launch; what a kernel does wrong while it runs shows at a later call.
        """
        if request.is_empty:
            return
        current = self._driver.current_device()
        if request.device is None:
            device = _index((pointer.tensor.device for pointer in request.pointers), current)
        else:
            device = _index((request.device,), current)
        if device == current:
            self._launch(request, device)
            return
        with self._driver.on_device(device):
            self._launch(request, device)

    def load(self, device: int) -> Loaded:
        """Compile for a device, which must be current, load there, and set written variables.

        Does nothing where it is loaded. Mutates: the device's memory.
        """
        if device in self._loaded:
            return self._loaded[device]
        self._driver.bind(device)
        kept = cubin_cache.keep(self._source, arch_for(self._driver.capability(device)))
        module = self._driver.load(kept.path)
        loaded = Loaded(
            module=module,
            functions=self._functions(module, kept.cubin, device),
            variable_sizes_bytes=variable_sizes_bytes(kept.cubin.image),
        )
        stream = self._driver.current_stream(device)
        for symbol, data in self._written.items():
            self._driver.write(module, symbol, data, stream)
        self._loaded[device] = loaded
        return loaded

    def write_variable(self, name: str, value: npt.NDArray[Any]) -> None:
        """Set a variable on every device, also on those where the program is loaded later.

        Waits for the current streams. Raises OperandError where there is no such variable or
        its size in bytes differs.
        """
        self._symbol(name, value.nbytes)
        symbol, data = mangled(name), value.tobytes()
        for device, loaded in self._loaded.items():
            with self._driver.on_device(device):
                stream = self._driver.current_stream(device)
                self._driver.write(loaded.module, symbol, data, stream)
        self._written[symbol] = data

    def copy_to_variable(self, name: str, source: torch.Tensor) -> None:
        """Enqueue a copy of a tensor to a variable on its device, on torch's current stream.

        Nothing waits once the program is loaded there. Raises OperandError as `write_variable`
        does.
        """
        driver = self._driver
        current = driver.current_device()
        device = _index((source.device,), current)
        with nullcontext() if device == current else driver.on_device(device):
            symbol = self._symbol(name, source.nbytes)
            module, stream = self._loaded[device].module, driver.current_stream(device)
            data = source.contiguous()
            driver.copy(module, symbol, data.data_ptr(), data.nbytes, stream)

    def read_variable(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        """Return a variable of the current device, after the work of its current stream.

        Raises OperandError as `write_variable` does.
        """
        num_bytes = np.dtype(dtype).itemsize * prod(shape)
        symbol = self._symbol(name, num_bytes)
        device = self._driver.current_device()
        module = self._loaded[device].module
        data = self._driver.read(module, symbol, num_bytes, self._driver.current_stream(device))
        return np.frombuffer(data, dtype=dtype).reshape(shape).copy()

    def _launch(self, request: LaunchRequest, device: int) -> None:
        driver = self._driver
        driver.bind(device)
        loaded = self._loaded.get(device)
        if loaded is None:
            loaded = self.load(device)
        function = loaded.functions[request.entry]
        if request.shared_bytes > function.max_dynamic_shared_bytes:
            raise KernelRunError(
                f"{request.entry}: wants {request.shared_bytes} bytes of dynamic shared memory, "
                f"device {device} has {function.max_dynamic_shared_bytes} beside the static"
            )
        parameters = addresses(request.arguments)
        try:
            stream = driver.current_stream(device)
            driver.launch(function.handle, request, stream, parameters.buffer_info()[0])
        except driver.errors as error:
            raise KernelRunError(
                f"{request.entry}: CUDA refused a grid of {request.grid} blocks of "
                f"{request.block} threads with {request.shared_bytes} bytes of dynamic shared "
                f"memory on device {device}: {error}"
            ) from error

    def _functions(self, module: object, cubin: Cubin, device: int) -> dict[str, Function]:
        """Resolve every entry, and allow it all the shared memory that the device has."""
        total_bytes = self._driver.max_shared_bytes(device)
        taken = resources(cubin)
        functions: dict[str, Function] = {}
        for entry, symbol in cubin.symbols:
            handle = self._driver.function(module, symbol)
            dynamic_bytes = total_bytes - taken[entry].static_shared_bytes
            self._driver.allow_shared(handle, dynamic_bytes)
            functions[entry] = Function(handle=handle, max_dynamic_shared_bytes=dynamic_bytes)
        return functions

    def _symbol(self, name: str, num_bytes: int) -> str:
        sizes = self.load(self._driver.current_device()).variable_sizes_bytes
        symbol = mangled(name)
        if symbol not in sizes:
            raise OperandError(
                f"{self._source.label}: no variable {name!r}; it has {', '.join(sizes) or 'none'}"
            )
        if sizes[symbol] != num_bytes:
            raise OperandError(
                f"{self._source.label}: variable {name!r} has {sizes[symbol]} bytes, "
                f"got {num_bytes}"
            )
        return symbol


def arch_for(capability: tuple[int, int]) -> str:
    """Return what to compile for a device of this compute capability.

    On Hopper it is the variant with all its instructions, `sm_90a`. Where NVRTC is older than
    the device, the newest architecture whose code runs on it: of the same major version.
    Raises BackendUnavailable where there is none.
    """
    major, minor = capability
    known = [name for name in nvrtc.supported_archs() if int(name[3:-1]) == major]
    fitting = [name for name in known if int(name[-1]) <= minor]
    if not fitting:
        raise BackendUnavailable(
            f"this NVRTC knows no architecture for compute capability {major}.{minor} "
            f"(it knows {', '.join(nvrtc.supported_archs())}); install a newer one"
        )
    return "sm_90a" if fitting[-1] == "sm_90" else fitting[-1]


def addresses(arguments: tuple[Argument, ...]) -> array[int]:
    """Return where the bytes of each argument lie: what cuLaunchKernel takes."""
    # numpy's own ways to an address cost two to seven times as much
    return array("Q", [addressof(c_char.from_buffer(argument.data)) for argument in arguments])


def _index(devices: Iterable[torch.device], current: int) -> int:
    """Return the first GPU of some devices; pinned host memory serves any GPU."""
    return next((device.index for device in devices if device.type == "cuda"), current)
