"""Memory of results that are read soon and never again, taken anew by those that follow."""

from __future__ import annotations

import ctypes
import weakref
from math import prod
from typing import Any

import torch

_LEAST_BYTES = 64


class ScratchArena:
    """Makes tensors whose memory comes back when the last view of it is gone.

    It goes to the next tensor of about its size, and to the system with the arena.

    Attributes:
        num_bytes: that it holds, used or not.

    """

    def __init__(self) -> None:
        self.num_bytes = 0
        self._free: dict[int, list[torch.Tensor]] = {}

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the same shape, strides and type, not initialised.

        The tensor must be dense and on the CPU, with at least one element.
        """
        num_bytes = tensor.numel() * tensor.element_size()
        size = max(_LEAST_BYTES, 1 << (num_bytes - 1).bit_length())
        free = self._free.setdefault(size, [])
        owner = free.pop() if free else self._grow(size)
        region = _region_type(size).from_address(owner.data_ptr())
        # the storage holds the region, and what is to be done at its end holds the memory
        weakref.finalize(region, free.append, owner)
        flat: torch.Tensor = torch.frombuffer(region, dtype=tensor.dtype, count=tensor.numel())
        return flat.as_strided(tensor.shape, tensor.stride())

    def _grow(self, size: int) -> torch.Tensor:
        self.num_bytes += size
        return torch.empty(size, dtype=torch.uint8)


def is_dense(tensor: torch.Tensor) -> bool:
    """Say whether the elements fill as many places as they are."""
    if not tensor.numel():
        return False
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in pairs)
    return last + 1 == prod(tensor.shape)


def _region_type(size: int) -> type[Any]:
    return ctypes.c_char * size
