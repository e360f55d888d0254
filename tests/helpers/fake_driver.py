"""A CUDA driver that launches nothing: it notes what it was asked, on as many devices as wanted."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from paged.kernel.launch import Intent, LaunchRequest, Pointer

STREAM_BASE = 7000
KIB = 1024


class FakeCudaError(Exception):
    """What the fake raises where it was told to refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One launch, with the parameter bytes as the driver would copy them."""

    device: int
    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    stream: int
    parameters: tuple[bytes, ...]


@dataclass(slots=True)
class FakeModule:
    """A cubin on one device, with its variables."""

    path: Path
    device: int
    variables: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class FakeDriver:
    """Stands for CUDA: compute capabilities by device, and a list of what happened."""

    capabilities: tuple[tuple[int, int], ...] = ((9, 0),)
    device: int = 0
    shared_bytes: int = 227 * KIB
    refuses: bool = False
    errors: tuple[type[Exception], ...] = (FakeCudaError,)
    modules: list[FakeModule] = field(default_factory=list)
    launches: list[Launched] = field(default_factory=list)
    allowed: dict[str, int] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    _symbols: list[str] = field(default_factory=list)

    def current_device(self) -> int:
        return self.device

    @contextmanager
    def on_device(self, device: int) -> Iterator[None]:
        before, self.device = self.device, device
        self.calls.append(f"enter {device}")
        try:
            yield
        finally:
            self.device = before
            self.calls.append(f"leave {device}")

    def bind(self, device: int) -> None:
        assert device == self.device

    def capability(self, device: int) -> tuple[int, int]:
        return self.capabilities[device]

    def max_shared_bytes(self, device: int) -> int:
        return self.shared_bytes

    def load(self, path: Path) -> FakeModule:
        assert path.read_bytes().startswith(b"\x7fELF")
        self.modules.append(FakeModule(path=path, device=self.device))
        return self.modules[-1]

    def function(self, module: object, symbol: str) -> int:
        self._symbols.append(symbol)
        return len(self._symbols) - 1

    def allow_shared(self, function: int, num_bytes: int) -> None:
        self.allowed[self._symbols[function]] = num_bytes

    def current_stream(self, device: int) -> int:
        return STREAM_BASE + device

    def launch(self, function: int, request: LaunchRequest, stream: int, parameters: int) -> None:
        if self.refuses:
            raise FakeCudaError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        count = len(request.arguments)
        at = (ctypes.c_void_p * count).from_address(parameters)
        sizes = [argument.nbytes for argument in request.arguments]
        copied = [ctypes.string_at(a or 0, size) for a, size in zip(at, sizes, strict=True)]
        launched = Launched(
            device=self.device,
            symbol=self._symbols[function],
            grid=request.grid,
            block=request.block,
            shared_bytes=request.shared_bytes,
            stream=stream,
            parameters=tuple(copied),
        )
        self.launches.append(launched)

    def write(self, module: object, symbol: str, data: bytes, stream: int) -> None:
        assert isinstance(module, FakeModule)
        assert module.device == self.device
        assert stream == STREAM_BASE + self.device
        module.variables[symbol] = data

    def copy(self, module: object, symbol: str, source: int, num_bytes: int, stream: int) -> None:
        self.write(module, symbol, ctypes.string_at(source, num_bytes), stream)

    def read(self, module: object, symbol: str, num_bytes: int, stream: int) -> bytes:
        assert isinstance(module, FakeModule)
        assert module.device == self.device
        return module.variables.get(symbol, bytes(num_bytes))


@dataclass(frozen=True, slots=True)
class FakeTensor:
    """The part of a tensor on a GPU that launching looks at."""

    device: torch.device


def pointer_on(device: str, *, intent: Intent = "in") -> Pointer:
    """Return an operand on a device, which need not exist."""
    tensor = FakeTensor(torch.device(device))
    return Pointer(
        operand="x",
        tensor=tensor,  # pyright: ignore[reportArgumentType]
        intent=intent,
        argument_index=0,
        offset_bytes=0,
    )
