"""Linear layers, norms and activations against float64."""

from __future__ import annotations

import torch

from paged.kernel.functional import add_rms_norm, embedding, linear, rms_norm, silu_mul
from paged.kernel.linear_weight import LinearWeight


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def test_linear_adds_its_bias() -> None:
    x, weight, bias = randn(3, 20), randn(7, 20), randn(7)
    got = linear(x, LinearWeight.plain(weight, bias))
    expected = x.double() @ weight.double().T + bias.double()
    torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-5)


def test_an_embedding_is_rows_of_the_weight() -> None:
    weight = randn(9, 4)
    got = embedding(torch.tensor([8, 0, 8]), LinearWeight.plain(weight), torch.float32)
    assert torch.equal(got, weight[[8, 0, 8]])


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    x, weight = randn(3, 20), randn(20)
    exact = x.double()
    expected = exact / (exact.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
    torch.testing.assert_close(rms_norm(x, weight, 1e-5).double(), expected, rtol=1e-5, atol=1e-6)


def test_add_rms_norm_returns_the_sum_as_well() -> None:
    x, residual, weight = randn(3, 20), randn(3, 20) * 2, randn(20)
    normed, total = add_rms_norm(x, residual, weight, 1e-5)
    assert torch.equal(total, x + residual)
    assert torch.equal(normed, rms_norm(total, weight, 1e-5))


def test_silu_mul_takes_the_gates_first() -> None:
    gate_up = randn(3, 20)
    gate, up = gate_up.double().split(10, dim=-1)
    expected = gate * torch.sigmoid(gate) * up
    torch.testing.assert_close(silu_mul(gate_up).double(), expected, rtol=1e-5, atol=1e-6)
