"""What the device at hand really does: bytes copied and products computed in a second."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from paged.kernel.cost import Roofline
from paged.kernel.measure.timing import ON_CPU, Round, device_round, host_round, interleave

_NUM_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A device and its measured limits.

    Attributes:
        l2_bytes: cache that a GPU's benchmarks must not find warm; None for a CPU.

    """

    device: torch.device
    name: str
    roofline: Roofline
    l2_bytes: int | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "device": self.device.type,
            "name": self.name,
            "copy_bytes_per_s": self.roofline.bytes_per_s,
            "matmul_flops_per_s": self.roofline.flops_per_s,
            "l2_bytes": self.l2_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Sizes of the copy and of the square matrices that are measured."""

    copy_bytes: int
    matrix_size: int
    matrix_dtype: torch.dtype


GPU_PROBE = Probe(copy_bytes=1 << 30, matrix_size=8192, matrix_dtype=torch.bfloat16)
CPU_PROBE = Probe(copy_bytes=1 << 26, matrix_size=512, matrix_dtype=torch.float32)


def measure_hardware(device: torch.device, probe: Probe | None = None) -> Hardware:
    """Measure a device: the best of some rounds, for limits are not to be beaten.

    Bytes copied count twice, read and written. Products are of 16-bit numbers on a GPU and of
    float32 on a CPU.
    """
    if probe is None:
        probe = GPU_PROBE if device.type == "cuda" else CPU_PROBE
    source = torch.zeros(probe.copy_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    shape = (probe.matrix_size, probe.matrix_size)
    matrix = torch.randn(shape, device=device).to(probe.matrix_dtype)
    product = torch.empty_like(matrix)
    rounds = interleave(
        {
            "copy": _round(device, lambda: target.copy_(source)),
            "matmul": _round(device, lambda: torch.mm(matrix, matrix, out=product)),
        },
        _NUM_ROUNDS,
    )
    return Hardware(
        device=device,
        name=_name(device),
        roofline=Roofline(
            bytes_per_s=2 * probe.copy_bytes / min(rounds["copy"]),
            flops_per_s=2 * probe.matrix_size**3 / min(rounds["matmul"]),
        ),
        l2_bytes=l2_bytes(device),
    )


def _round(device: torch.device, run: Callable[[], Any]) -> Round:
    if device.type == "cuda":
        return device_round([run], is_captured=True)
    return host_round([run], ON_CPU)


def l2_bytes(device: torch.device) -> int | None:
    """Return the size of a GPU's cache; None for a CPU."""
    if device.type != "cuda":
        return None
    untyped: Any = torch.cuda
    return int(untyped.get_device_properties(device).L2_cache_size)


def _name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
