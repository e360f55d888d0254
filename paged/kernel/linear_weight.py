"""The weight of a linear layer, as stored: plain for torch, or tiled for the host backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from paged.errors import OperandError

WeightType = Literal["bfloat16", "float32", "int8"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearWeight:
    """A weight [out_features, in_features] and its bias.

    Attributes:
        data: [out_features, in_features] of any float dtype.
        bias: [out_features], or None.

    """

    data: torch.Tensor
    bias: torch.Tensor | None = None

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
        return cls(data=weight, bias=bias)

    @property
    def out_features(self) -> int:
        """Values of a row of the result."""
        return self.data.shape[0]

    @property
    def in_features(self) -> int:
        """Values of a row of the input."""
        return self.data.shape[1]

    @property
    def num_bytes(self) -> int:
        """Bytes of all tensors."""
        return self.data.nbytes + (0 if self.bias is None else self.bias.nbytes)

    def packed(self, dtype: WeightType) -> LinearWeight:
        """Return this weight, on the CPU, in the form that the host backend reads, once at load.

        Where the host backend is unavailable the result is plain, with the same values.
        """
        return LinearWeight(data=self.data.to(getattr(torch, dtype)), bias=self.bias)

    def dequantized(self) -> torch.Tensor:
        """Return the values [out_features, in_features] in float32."""
        return self.data.float()
