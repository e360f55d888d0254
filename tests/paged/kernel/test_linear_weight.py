"""Weights of linear layers, plain and packed."""

from __future__ import annotations

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.linear_weight import LinearWeight


def test_a_weight_must_be_a_matrix_of_floats() -> None:
    with pytest.raises(OperandError, match="must be \\[out_features, in_features\\] of floats"):
        LinearWeight.plain(torch.zeros(3, 4, 5))


def test_a_bias_must_have_the_weights_rows() -> None:
    with pytest.raises(OperandError, match="must have shape \\(3,\\), got \\(4,\\)"):
        LinearWeight.plain(torch.zeros(3, 4), torch.zeros(4))
