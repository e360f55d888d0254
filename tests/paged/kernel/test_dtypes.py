"""Element types: the same bytes for torch, numpy and CUDA."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.errors import KernelSourceError
from paged.kernel.dtypes import ELEMENT_TYPES, element_type, name_of


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_names_and_sizes_agree(name: str) -> None:
    kind = element_type(name)
    assert name_of(kind.torch) == name
    assert torch.empty(1, dtype=kind.torch).element_size() == kind.itemsize_bytes
    if kind.numpy is not None:
        assert np.dtype(kind.numpy).itemsize == kind.itemsize_bytes
        assert torch.empty(1, dtype=kind.torch).numpy().dtype == np.dtype(kind.numpy)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(KernelSourceError, match=r"expected a dtype of float16, .* got 'half'"):
        element_type("half")


def test_types_that_kernels_cannot_take_keep_torchs_name() -> None:
    assert name_of(torch.complex64) == "complex64"
