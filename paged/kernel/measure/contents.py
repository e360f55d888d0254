"""What operands hold where only their sizes are given: numbers from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from paged.kernel.dtypes import element_type


def random_tensor(shape: tuple[int, ...], dtype: str, source: torch.Generator) -> torch.Tensor:
    """Return normal numbers in any dtype, made on the generator's device."""
    made_in = torch.bfloat16 if dtype.startswith("float8") else element_type(dtype).torch
    numbers = torch.randn(shape, generator=source, device=source.device, dtype=made_in)
    return numbers.to(element_type(dtype).torch)


def projected(
    num_tokens: int, head_counts: Sequence[int], head_dim: int, dtype: str, source: torch.Generator
) -> tuple[torch.Tensor, ...]:
    """Return slices of one fused projection, as a model's query, key and value are.

    Shapes: [num_tokens, count, head_dim] for each count of heads.
    """
    rows = random_tensor((num_tokens, sum(head_counts), head_dim), dtype, source)
    return torch.split(rows, list(head_counts), dim=1)


def rotary_table(num_positions: int, rotary_dim: int, device: torch.device) -> torch.Tensor:
    """Return cosines, then sines, of each position's angles: [num_positions, rotary_dim]."""
    inverse = 10000.0 ** (-torch.arange(0, rotary_dim, 2, device=device).float() / rotary_dim)
    angles = torch.arange(num_positions, device=device)[:, None] * inverse
    return torch.cat([angles.cos(), angles.sin()], dim=1)
