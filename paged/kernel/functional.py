"""What a model computes between attentions, row by row: host kernels on the CPU, torch elsewhere.

On the CPU each row of a result depends on that row alone, bit for bit.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from paged.kernel.linear_weight import LinearWeight


def linear(x: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
    """Return x W^T + bias. Shapes: x [rows, in_features] -> [rows, out_features]."""
    bias = None if weight.bias is None else weight.bias.to(x.dtype)
    return functional.linear(x, weight.data.to(x.dtype), bias)


def embedding(tokens: torch.Tensor, weight: LinearWeight, dtype: torch.dtype) -> torch.Tensor:
    """Return rows of a weight: [num_tokens] of int32 or int64 -> [num_tokens, in_features]."""
    return weight.data[tokens].to(dtype)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Return x / sqrt(mean(x^2) + eps) * weight over the last axis. Shapes: weight [x.shape[-1]].

    Computed in float32, returned in x's dtype.
    """
    exact = x.float()
    scale = torch.rsqrt(exact.square().mean(dim=-1, keepdim=True) + eps)
    return (exact * scale).to(x.dtype) * weight.to(x.dtype)


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (rms_norm(x + residual), x + residual)."""
    total = x + residual
    return rms_norm(total, weight, eps), total


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """Return silu(gate) * up. Shapes: gate_up [rows, 2 * n], gates first -> [rows, n]."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate) * up
