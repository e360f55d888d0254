"""Parameters from a seed."""

from __future__ import annotations

from collections.abc import Callable

import torch

from model_zoo.config import ModelConfig
from model_zoo.params import ModelParams
from model_zoo.weights import build_params, leaf_shapes
from paged.kernel.linear_weight import LinearWeight


def random_params(
    config: ModelConfig,
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
    pack: Callable[[LinearWeight], LinearWeight] | None = None,
) -> ModelParams:
    """Return parameters that keep activations near 1, the same for the same config and seed.

    dtype: of matrices and norms before pack. pack: makes another layout of each matrix.
    """
    shapes = leaf_shapes(config)
    # on the CPU, for generators of different devices draw different numbers
    source = torch.Generator().manual_seed(seed)

    def vector(path: str) -> torch.Tensor:
        noise = torch.randn(sum(shapes[path].rows), generator=source)
        return (1 + 0.1 * noise).to(device, dtype)

    def linear(path: str) -> LinearWeight:
        shape = shapes[path]
        num_rows, num_columns = sum(shape.rows), shape.columns or 1
        matrix = torch.randn((num_rows, num_columns), generator=source) * num_columns**-0.5
        bias = 0.1 * torch.randn(num_rows, generator=source) if shape.has_bias else None
        plain = LinearWeight.plain(
            matrix.to(device, dtype), None if bias is None else bias.to(device, dtype)
        )
        return plain if pack is None else pack(plain)

    return build_params(config, linear=linear, vector=vector)
