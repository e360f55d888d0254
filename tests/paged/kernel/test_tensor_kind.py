"""Tensors that are no plain memory are refused in words, with the way out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.kernel.tensor_kind import kind_fault


def complex_zeros() -> torch.Tensor:
    return torch.zeros(4, dtype=torch.complex64)


def quantized() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.zeros(4), 1.0, 0, torch.qint8)


@pytest.mark.filterwarnings("ignore")  # torch warns of kinds that it means to drop or to change
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: [1.0], "got builtins.list; pass torch.as_tensor() of it"),
        (lambda: np.zeros(4), "got numpy.ndarray; pass torch.as_tensor() of it"),
        (lambda: complex_zeros().conj(), "torch's conj bit set"),
        (lambda: complex_zeros().conj().imag, "pass .resolve_neg()"),
        (lambda: torch.zeros(4).to_sparse(), "got torch.sparse_coo; pass .to_dense()"),
        (lambda: torch.eye(4).to_sparse_csr(), "got torch.sparse_csr; pass .to_dense()"),
        (lambda: torch.zeros(4).to_mkldnn(), "got torch._mkldnn; pass .to_dense()"),
        (quantized, "got quantized torch.qint8; pass .dequantize()"),
        (lambda: torch.nested.nested_tensor([torch.zeros(3)]), "pass .to_padded_tensor(0)"),
        (lambda: torch.zeros(4, requires_grad=True), "kernels have no gradient"),
    ],
)
def test_what_no_kernel_takes(make: object, reason: str) -> None:
    assert callable(make)
    fault = kind_fault(make())
    assert fault is not None
    assert reason in fault


def test_what_kernels_take() -> None:
    class Own(torch.Tensor):
        pass

    kept = torch.zeros(4, requires_grad=True)
    for tensor in (torch.zeros(4), torch.zeros(4).as_subclass(Own), kept.detach()):
        assert kind_fault(tensor) is None
    with torch.no_grad():
        assert kind_fault(kept) is None
