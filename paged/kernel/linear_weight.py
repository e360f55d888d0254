"""The weight of a linear layer, as stored: plain for torch, or packed for the host backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import torch

from paged.errors import OperandError
from paged.kernel.backends.host import find_host
from paged.kernel.choice import current_choices

WeightType = Literal["bfloat16", "float32", "int8"]

INT8_MAX = 127
# Values quantised at a time: temporary tensors of so many stay in the cache of a core.
_CHUNK_VALUES = 1 << 18


def _copy(values: torch.Tensor) -> torch.Tensor:
    return values.clone(memory_format=torch.contiguous_format)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearWeight:
    """A weight [out_features, in_features] and its bias.

    Attributes:
        data: plain, [out_features, in_features] of any float dtype; packed, [num_tiles,
            in_features, tile] of bfloat16, float32 or int8, the last tile filled up with zeros, as
            are inputs of int8 to an even number. The order within a tile is that of
            `kernels_cu/host/linear_weights.h`.
        out_features: values of a row of the result.
        in_features: values of a row of the input.
        bias: [out_features], or None; float32 where packed.
        scales: float32 [out_features] that int8 data are multiplied by, else None.

    """

    data: torch.Tensor
    out_features: int
    in_features: int
    bias: torch.Tensor | None = None
    scales: torch.Tensor | None = None

    @classmethod
    def plain(cls, weight: torch.Tensor, bias: torch.Tensor | None = None) -> LinearWeight:
        """Return a weight as torch keeps it, on any device. Raises OperandError."""
        if weight.dim() != 2 or not weight.is_floating_point():
            raise OperandError(
                f"a linear weight must be [out_features, in_features] of floats, got "
                f"{weight.dtype} of shape {tuple(weight.shape)}"
            )
        if bias is not None and bias.shape != weight.shape[:1]:
            raise OperandError(
                f"the bias of a weight {tuple(weight.shape)} must have shape "
                f"{tuple(weight.shape[:1])}, got {tuple(bias.shape)}"
            )
        out_features, in_features = weight.shape
        return cls(data=weight, out_features=out_features, in_features=in_features, bias=bias)

    @property
    def is_packed(self) -> bool:
        """Whether the host backend's kernels read it, which read no other."""
        return self.data.dim() == 3

    @property
    def num_bytes(self) -> int:
        """Bytes of all tensors."""
        parts = (self.data, self.bias, self.scales)
        return sum(part.nbytes for part in parts if part is not None)

    def packed(
        self, dtype: WeightType, *, place: Callable[[torch.Tensor], torch.Tensor] = _copy
    ) -> LinearWeight:
        """Return this plain weight as the host backend in force reads it, once at load.

        int8 has a scale for each output: its largest value becomes 127. What such a weight is
        multiplied by is rounded to 16 bits, in fixed point below the largest of each 256 inputs of
        a row. Where the host backend is unavailable the result is plain and float32, with the same
        values, and nothing else is rounded.
        place: returns a contiguous copy of what is packed, such as `HugePages.place`.
        Raises: OperandError for a weight that is packed, or not on the CPU.
        """
        if self.is_packed or self.data.device.type != "cpu":
            state = "packed" if self.is_packed else f"on {self.data.device}"
            raise OperandError(f"only a plain weight on the CPU can be packed, this one is {state}")
        host = find_host(current_choices().host)
        if dtype == "int8":
            values, scales = _quantized(self.data)
        else:
            values, scales = self.data.to(getattr(torch, dtype)), None
        bias = None if self.bias is None else self.bias.float()
        if host is None:
            values = values.float() if scales is None else values.float() * scales[:, None]
            return replace(self, data=values, bias=bias)
        tiles = place(_tiled(values, host.level.tile_features))
        num_inputs = prod(tiles.shape[1:]) // host.level.tile_features
        data = tiles.view(len(tiles), num_inputs, host.level.tile_features)
        return replace(self, data=data, bias=bias, scales=scales)

    def dequantized(self) -> torch.Tensor:
        """Return the values [out_features, in_features] in float32."""
        if not self.is_packed:
            return self.data.float()
        values = _untiled(self.data)[: self.out_features, : self.in_features].float()
        return values if self.scales is None else values * self.scales[:, None]


def _quantized(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return int8 of at most 127 and the scale of each row."""
    num_rows, num_columns = weight.shape
    integers, scales = torch.empty(weight.shape, dtype=torch.int8), torch.empty(num_rows)
    step = max(1, _CHUNK_VALUES // max(1, num_columns))
    for start in range(0, num_rows, step):
        rows = slice(start, start + step)
        exact = weight[rows].float()
        scales[rows] = exact.abs().amax(dim=1) / INT8_MAX
        divisors = torch.where(scales[rows] > 0, scales[rows], 1.0)
        integers[rows] = (exact / divisors[:, None]).round_()
    return integers, scales


def _tiled(weight: torch.Tensor, tile: int) -> torch.Tensor:
    """Return a view of [out_features, in_features] in the order of memory, tile after tile.

    float32: [num_tiles, in_features, tile]; bfloat16: [num_tiles, in_features, tile / 2, 2]; int8:
    [num_tiles, in_features / 2, tile, 2]. What has to be filled up makes it a copy.
    """
    out_features, in_features = weight.shape
    num_tiles = -(-out_features // tile)
    missing = num_tiles * tile - out_features, in_features % 2 if weight.dtype == torch.int8 else 0
    padding = (0, missing[1], 0, missing[0])
    filled = torch.nn.functional.pad(weight, padding) if any(missing) else weight
    if weight.dtype == torch.bfloat16:
        return filled.reshape(num_tiles, 2, tile // 2, -1).permute(0, 3, 2, 1)
    if weight.dtype == torch.int8:
        return filled.reshape(num_tiles, tile, -1, 2).permute(0, 2, 1, 3)
    return filled.reshape(num_tiles, tile, -1).transpose(1, 2)


def _untiled(tiles: torch.Tensor) -> torch.Tensor:
    """Return [num_tiles, in_features, tile] as [num_tiles * tile, in_features]."""
    num_tiles, in_features, tile = tiles.shape
    if tiles.dtype == torch.bfloat16:
        ordered = tiles.view(num_tiles, in_features, tile // 2, 2).permute(0, 3, 2, 1)
    elif tiles.dtype == torch.int8:
        ordered = tiles.view(num_tiles, in_features // 2, tile, 2).permute(0, 2, 1, 3)
    else:
        ordered = tiles.transpose(1, 2)
    return ordered.reshape(num_tiles * tile, in_features)
