"""Memory in huge pages, for what is read whole again and again: the weights, the KV pools.

With pages of 4 KiB the translation of addresses, not the memory, limits how fast a CPU reads.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from math import prod

import torch

PAGE_BYTES = 2 << 20
_CHUNK_BYTES = 64 << 20
_LINE_BYTES = 64


class HugePages:
    """Lays tensors side by side, from chunks that go back to the system with their last tensor.

    Where the system has no huge pages these are ordinary ones.
    """

    def __init__(self) -> None:
        self._chunk: torch.Tensor = torch.empty(0, dtype=torch.uint8)

    def zeros(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Return zeros, contiguous and on the CPU, that start a line of the cache.

        Raises: MemoryError where memory is short.
        """
        num_bytes = prod(shape) * dtype.itemsize
        if not num_bytes:
            return torch.zeros(tuple(shape), dtype=dtype)
        if num_bytes > len(self._chunk):
            self._chunk = _zeros(max(num_bytes, _CHUNK_BYTES))
        part, rest = self._chunk[:num_bytes], -(-num_bytes // _LINE_BYTES) * _LINE_BYTES
        self._chunk = self._chunk[rest:]
        return part.view(dtype).view(*shape)

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a copy of a tensor on the CPU. Raises: as `zeros`."""
        return self.zeros(tensor.shape, tensor.dtype).copy_(tensor)


def _zeros(num_bytes: int) -> torch.Tensor:
    """Return whole huge pages, of bytes."""
    rounded = -(-num_bytes // PAGE_BYTES) * PAGE_BYTES
    try:
        memory = mmap.mmap(-1, rounded + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{num_bytes:,} bytes: {error}") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # refused by kernels that are built without them
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    everything: torch.Tensor = torch.frombuffer(memory, dtype=torch.uint8)
    start = -everything.data_ptr() % PAGE_BYTES
    return everything[start : start + rounded]
