"""What a model computes between attentions, row by row: host kernels on the CPU, torch elsewhere.

On the CPU, activations are float32 and contiguous, and each row of a result depends on that row
alone, bit for bit: neither the number of rows nor that of threads matters. Without the host
backend, on a GPU, and where torch traces or compiles, torch computes all of it.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from paged.errors import BackendUnavailable
from paged.kernel.backends.host_layers import HostLayers, find_layers
from paged.kernel.choice import current_choices
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.tap import watched


@watched
def linear(x: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
    """Return x W^T + bias. Shapes: x [rows, in_features] -> [rows, out_features].

    Raises: OperandError; BackendUnavailable for a packed weight where no host backend is.
    """
    if weight.is_packed and not torch.compiler.is_compiling():
        return _layers().linear(x, weight)
    values = weight.dequantized() if weight.is_packed else weight.data
    bias = None if weight.bias is None else weight.bias.to(x.dtype)
    return functional.linear(x, values.to(x.dtype), bias)


@watched
def embedding(tokens: torch.Tensor, weight: LinearWeight, dtype: torch.dtype) -> torch.Tensor:
    """Return rows of a weight: [num_tokens] of int32 or int64 -> [num_tokens, in_features].

    Raises: as `linear`.
    """
    if weight.is_packed and not torch.compiler.is_compiling():
        return _layers().embedding(tokens, weight).to(dtype)
    values = weight.dequantized() if weight.is_packed else weight.data
    return values[tokens].to(dtype)


@watched
def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Return x / sqrt(mean(x^2) + eps) * weight over the last axis. Shapes: weight [x.shape[-1]].

    Computed in float32, returned in x's dtype. Raises: OperandError.
    """
    layers = _layers_for(x)
    if layers is not None:
        return layers.rms_norm(x, weight, eps)
    return _normed(x, weight, eps)


@watched
def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (rms_norm(x + residual), x + residual). Raises: OperandError."""
    layers = _layers_for(x)
    if layers is not None:
        return layers.add_rms_norm(x, residual, weight, eps)
    total = x + residual
    return _normed(total, weight, eps), total


@watched
def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """Return silu(gate) * up. Shapes: gate_up [rows, 2 * n], gates first -> [rows, n].

    Raises: OperandError.
    """
    layers = _layers_for(gate_up)
    if layers is not None:
        return layers.silu_mul(gate_up)
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate) * up


def _normed(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    exact = x.float()
    scale = torch.rsqrt(exact.square().mean(dim=-1, keepdim=True) + eps)
    return (exact * scale).to(x.dtype) * weight.to(x.dtype)


def _layers_for(x: torch.Tensor) -> HostLayers | None:
    """Return the host kernels for an activation; None where torch is to compute with it."""
    if x.dtype is torch.float32 and x.is_cpu and not torch.compiler.is_compiling():
        return find_layers(current_choices().host)
    return None


def _layers() -> HostLayers:
    layers = find_layers(current_choices().host)
    if layers is None:
        raise BackendUnavailable(
            "a packed weight needs the host backend, which is unavailable; use a plain weight"
        )
    return layers
