"""Kernels without a fault are clean. Those left out here are tried with the soak tests."""

from __future__ import annotations

import pytest

from paged.kernel.call import kernel_call
from paged.kernel.sanitize import SanitizeConfig
from tests.helpers.ordinary.case import AnyOrder, Case, Tail, copied
from tests.helpers.ordinary.catalogue import ORDINARY

OFTEN = (
    *("row_reduce", "grid_reduce", "scan_lookback", "scan_blelloch", "histogram", "softmax"),
    *("layer_norm", "transpose", "gemm_tiled", "flash_attention", "bitonic_top_k"),
    *("pipelined_scale", "compact", "checked_gather"),
)


def test_a_dozen_kernels_are_tried_each_time() -> None:
    assert len(OFTEN) >= 12
    assert set(OFTEN) < set(ORDINARY)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in OFTEN else pytest.mark.soak) for n in ORDINARY],
)
def test_an_ordinary_kernel_is_clean(name: str) -> None:
    for case in ORDINARY[name]():
        check(case)


def check(case: Case) -> None:
    """Sanitize a call in the natural order; other orders are the ordinary suite's."""
    operands = [copied(operand, "cpu") for operand in case.operands]
    partial = {
        name for name, expected in case.expected.items() if isinstance(expected, AnyOrder | Tail)
    }
    config = SanitizeConfig(seeds=(), partial=frozenset(partial))
    kernel_call(case.spec, *operands, interpret=config, **case.numbers)
