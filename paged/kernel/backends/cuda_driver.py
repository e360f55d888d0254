"""The few calls of CUDA that launching takes, through CuPy and torch."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import torch

from paged.errors import BackendUnavailable
from paged.kernel.launch import LaunchRequest


class Driver(Protocol):
    """What the backend asks of CUDA. Handles are addresses; devices are torch's indices."""

    errors: tuple[type[Exception], ...]
    """What the calls below raise where CUDA refuses."""

    def current_device(self) -> int:
        """Return the device that this thread uses."""
        ...

    def on_device(self, device: int) -> AbstractContextManager[object]:
        """Make a device current for a while."""
        ...

    def bind(self, device: int) -> None:
        """Give this thread the context of its current device."""
        ...

    def capability(self, device: int) -> tuple[int, int]:
        """Return the compute capability, such as (9, 0)."""
        ...

    def max_shared_bytes(self, device: int) -> int:
        """Return how much shared memory a block can have, static and dynamic."""
        ...

    def load(self, path: Path) -> object:
        """Load a cubin on the current device."""
        ...

    def function(self, module: object, symbol: str) -> int:
        """Return a kernel of a module. The module must outlive it."""
        ...

    def allow_shared(self, function: int, num_bytes: int) -> None:
        """Allow a kernel this much dynamic shared memory on the current device."""
        ...

    def current_stream(self, device: int) -> int:
        """Return torch's current stream on a device."""
        ...

    def launch(self, function: int, request: LaunchRequest, stream: int, parameters: int) -> None:
        """Enqueue a kernel; parameters is where the addresses of its arguments lie."""
        ...

    def write(self, module: object, symbol: str, data: bytes, stream: int) -> None:
        """Copy bytes to a variable of a module, after what the stream holds, and wait."""
        ...

    def copy(self, module: object, symbol: str, source: int, num_bytes: int, stream: int) -> None:
        """Copy device memory at an address to a variable of a module; the stream does it."""
        ...

    def read(self, module: object, symbol: str, num_bytes: int, stream: int) -> bytes:
        """Copy a variable of a module, after what the stream holds, and wait."""
        ...


class CupyDriver:
    """CUDA as CuPy wraps it, on torch's devices and streams.

    Raises BackendUnavailable where CuPy, torch's CUDA build or a device is missing.
    """

    def __init__(self) -> None:
        reason = why_unavailable()
        if reason is not None:
            raise BackendUnavailable(f"the cuda backend cannot run: {reason}")
        try:
            self._cupy: Any = importlib.import_module("cupy")
        except ImportError as error:
            raise BackendUnavailable(f"CuPy cannot be imported: {error}") from error
        self._runtime: Any = self._cupy.cuda.runtime
        self._driver: Any = self._cupy.cuda.driver
        self._launch: Callable[..., None] = self._driver.launchKernel
        self._stream: Callable[[int], int] = vars(torch._C)["_cuda_getCurrentRawStream"]  # pyright: ignore[reportPrivateUsage]
        self._bound = threading.local()
        self.errors = (self._driver.CUDADriverError, self._runtime.CUDARuntimeError)

    def current_device(self) -> int:
        """Return the device that this thread uses."""
        return torch.cuda.current_device()

    def on_device(self, device: int) -> AbstractContextManager[object]:
        """Make a device current for a while."""
        return torch.cuda.device(device)

    def bind(self, device: int) -> None:
        """Give this thread the context of its current device.

        A thread in which nothing was run yet has none, and torch does not set the device that
        is already current.
        """
        if vars(self._bound).get("device") != device:
            self._runtime.setDevice(device)
            self._bound.device = device

    def capability(self, device: int) -> tuple[int, int]:
        """Return the compute capability, such as (9, 0)."""
        return torch.cuda.get_device_capability(device)

    def max_shared_bytes(self, device: int) -> int:
        """Return how much shared memory a block can have, static and dynamic."""
        attribute = self._runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin
        return int(self._runtime.deviceGetAttribute(attribute, device))

    def load(self, path: Path) -> object:
        """Load a cubin on the current device."""
        return self._cupy.RawModule(path=str(path))

    def function(self, module: Any, symbol: str) -> int:
        """Return a kernel of a module. The module must outlive it."""
        return int(module.get_function(symbol).kernel.ptr)

    def allow_shared(self, function: int, num_bytes: int) -> None:
        """Allow a kernel this much dynamic shared memory on the current device."""
        attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._driver.funcSetAttribute(function, attribute, num_bytes)

    def current_stream(self, device: int) -> int:
        """Return torch's current stream on a device."""
        return self._stream(device)

    def launch(self, function: int, request: LaunchRequest, stream: int, parameters: int) -> None:
        """Enqueue a kernel; parameters is where the addresses of its arguments lie."""
        self._launch(
            function, *request.grid, *request.block, request.shared_bytes, stream, parameters, 0
        )

    def write(self, module: Any, symbol: str, data: bytes, stream: int) -> None:
        """Copy bytes to a variable of a module, after what the stream holds, and wait."""
        source = ctypes.create_string_buffer(data, len(data))
        self._copy(
            module.get_global(symbol).ptr,
            ctypes.addressof(source),
            len(data),
            self._runtime.memcpyHostToDevice,
            stream,
        )

    def copy(self, module: Any, symbol: str, source: int, num_bytes: int, stream: int) -> None:
        """Copy device memory at an address to a variable of a module; the stream does it."""
        target = module.get_global(symbol).ptr
        kind = self._runtime.memcpyDeviceToDevice
        self._runtime.memcpyAsync(target, source, num_bytes, kind, stream)

    def read(self, module: Any, symbol: str, num_bytes: int, stream: int) -> bytes:
        """Copy a variable of a module, after what the stream holds, and wait."""
        target = ctypes.create_string_buffer(num_bytes)
        self._copy(
            ctypes.addressof(target),
            module.get_global(symbol).ptr,
            num_bytes,
            self._runtime.memcpyDeviceToHost,
            stream,
        )
        return target.raw

    def _copy(self, target: int, source: int, num_bytes: int, kind: int, stream: int) -> None:
        self._runtime.memcpyAsync(target, source, num_bytes, kind, stream)
        self._runtime.streamSynchronize(stream)


def why_unavailable() -> str | None:
    """Return why kernels cannot run on a GPU here, or None where they can."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed; pip install 'paged[cuda12]' or 'paged[cuda13]'"
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is a build without CUDA"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device; see nvidia-smi for the driver and the devices"
    return None
