"""Tensors of a checkpoint, by the names that transformers gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch


class TensorSource(Protocol):
    """Where weights come from; nothing is read before it is asked for."""

    @property
    def source(self) -> str:
        """What errors call the files."""
        ...

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every tensor, by name."""
        ...

    def read_into(self, name: str, out: torch.Tensor) -> None:
        """Copy a tensor into one of its shape, of any float dtype. Raises ModelFileError."""
        ...
