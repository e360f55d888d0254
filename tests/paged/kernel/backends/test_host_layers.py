"""Operands that host kernels refuse, each with what was expected and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.host import HostConfig, load_host
from paged.kernel.backends.host_layers import HostLayers, find_layers
from paged.kernel.linear_weight import LinearWeight
from tests.helpers.host_levels import RUNNABLE, in_level


def layers() -> HostLayers:
    found = find_layers(HostConfig(num_threads=1))
    assert found is not None
    return found


def weight() -> LinearWeight:
    return LinearWeight.plain(torch.ones(7, 20)).packed("float32")


def needs_grad() -> torch.Tensor:
    return torch.ones(3, 20, requires_grad=True)


CONTIGUOUS = "of float32, contiguous and on the CPU, got torch."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: layers().linear(torch.ones(3, 19), weight()),
            f"linear: operand 'x' must be [rows, 20] {CONTIGUOUS}float32 of shape [3, 19] on cpu",
        ),
        (
            lambda: layers().linear(torch.ones(20), weight()),
            f"must be [rows, 20] {CONTIGUOUS}float32 of shape [20]",
        ),
        (
            lambda: layers().linear(torch.ones(3, 20).double(), weight()),
            f"must be [rows, 20] {CONTIGUOUS}float64",
        ),
        (
            lambda: layers().linear(torch.ones(20, 3).T, weight()),
            "with strides [1, 3]; pass .contiguous()",
        ),
        (
            lambda: layers().linear(torch.ones(3, 20, device="meta"), weight()),
            "of shape [3, 20] on meta",
        ),
        (lambda: layers().linear(needs_grad(), weight()), "that requires grad; call under"),
        (
            lambda: layers().linear(torch.ones(3, 20)._neg_view(), weight()),
            "neg bit set; pass .resolve_neg()",
        ),
        (
            lambda: layers().embedding(torch.ones(3), weight()),
            "operand 'tokens' must be [num_tokens] of integers and on the CPU, got torch.float32",
        ),
        (
            lambda: layers().rms_norm(torch.ones(3, 19), torch.ones(20), 1e-5),
            "rms_norm: operand 'x' must be [..., 20]",
        ),
        (
            lambda: layers().rms_norm(torch.ones(3, 20), torch.ones(20).bfloat16(), 1e-5),
            "rms_norm: operand 'weight' must be [columns] of float32",
        ),
        (
            lambda: layers().add_rms_norm(
                torch.ones(3, 20), torch.ones(2, 20), torch.ones(20), 1e-5
            ),
            "add_rms_norm: operand 'residual' must be [3, 20]",
        ),
        (
            lambda: layers().silu_mul(torch.ones(3, 19)),
            "silu_mul: operand 'gate_up' must be [rows, 2 * columns]",
        ),
    ],
)
def test_a_wrong_operand_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(OperandError) as raised:
        call()
    assert message in str(raised.value)


def test_gradients_are_no_matter_where_none_are_kept() -> None:
    with torch.inference_mode():
        assert layers().linear(needs_grad(), weight()).shape == (3, 7)


def test_a_weight_packed_for_another_level_is_refused() -> None:
    for level in RUNNABLE[1:]:
        with in_level(level):
            packed = weight()
        if packed.data.shape[2] == weight().data.shape[2]:
            continue
        with pytest.raises(OperandError, match="pack it under the level that is to read it"):
            layers().linear(torch.ones(3, 20), packed)
        with pytest.raises(OperandError, match="pack it under the level that is to read it"):
            layers().embedding(torch.tensor([0]), packed)


def test_the_layers_of_a_configuration_are_made_once() -> None:
    assert find_layers(HostConfig(num_threads=1)) is layers()
    assert load_host(HostConfig(num_threads=1)).num_threads == 1
