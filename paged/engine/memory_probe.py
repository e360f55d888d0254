"""What a GPU says of its memory, and how much of it something takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch


class MemoryProbe(Protocol):
    """The memory of one device, in bytes."""

    @property
    def total_bytes(self) -> int:
        """All memory of the device."""
        ...

    def tensor_bytes(self) -> int:
        """Return what tensors of this process take now."""
        ...

    def outside_bytes(self) -> int:
        """Return what others take now: processes beside this one, and CUDA itself."""
        ...

    def rise_bytes(self, run: Callable[[], object]) -> int:
        """Run something; return how far tensors rose meanwhile above what they took before."""
        ...


class GpuMemory:
    """Torch's own account of a GPU. Unverified on hardware."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    @property
    def total_bytes(self) -> int:
        """All memory of the device."""
        return torch.cuda.mem_get_info(self._device)[1]

    def tensor_bytes(self) -> int:
        """Return what tensors of this process take now."""
        return torch.cuda.memory_allocated(self._device)

    def outside_bytes(self) -> int:
        """Return what others take now: processes beside this one, and CUDA itself.

        Mutates: gives what torch keeps for later tensors back to the device.
        """
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info(self._device)
        return total - free - torch.cuda.memory_reserved(self._device)

    def rise_bytes(self, run: Callable[[], object]) -> int:
        """Run something; return how far tensors rose meanwhile above what they took before."""
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        run()
        torch.cuda.synchronize(self._device)
        return torch.cuda.max_memory_allocated(self._device) - before
