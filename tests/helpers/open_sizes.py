"""Sizes that a trace leaves open."""

from __future__ import annotations

from typing import Any

from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv


def open_size(hint: int) -> Any:
    """Return a `torch.SymInt` that stands for any size, and for this one in a trace."""
    env = ShapeEnv()
    source = ConstantSource("size")
    symbol = env.create_symbol(hint, source, dynamic_dim=DimDynamic.DYNAMIC)
    return env.create_symintnode(symbol, hint=hint, source=source)
