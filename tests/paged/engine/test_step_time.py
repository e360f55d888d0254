"""Step-time models against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from paged.engine.step_time import AffineStepTime, RooflineStepTime
from paged.errors import ConfigError
from paged.hardware import GPUS
from paged.scheduler.batch import Batch
from paged.shapes import MODELS

MakeBatch = Callable[..., Batch]

LLAMA = MODELS["llama-3-8b"]
RTX4090 = GPUS["rtx4090"]


def peak_roofline() -> RooflineStepTime:
    return RooflineStepTime(
        LLAMA, RTX4090, bandwidth_efficiency=1.0, flops_efficiency=1.0, overhead_s=0.0
    )


def test_affine_adds_its_three_terms(make_batch: MakeBatch) -> None:
    step_time = AffineStepTime(
        base_s=0.5, context_s_per_token=2.0**-10, scheduled_s_per_token=2.0**-5
    )
    batch = make_batch((0, 31, 1, 1), (1, 0, 7, 1))
    assert step_time.duration_s(batch) == 0.5 + 39 / 1024 + 8 / 32


@pytest.mark.parametrize("value", [-1e-3, float("nan"), float("inf")])
def test_affine_refuses_impossible_costs(value: float) -> None:
    with pytest.raises(ConfigError, match="base_s must be finite"):
        AffineStepTime(base_s=value, context_s_per_token=0.0, scheduled_s_per_token=0.0)


def test_roofline_decode_is_bytes_over_bandwidth(make_batch: MakeBatch) -> None:
    batch = make_batch(*[(row, 4999, 1, 1) for row in range(8)])
    bytes_read = LLAMA.weight_bytes + 8 * 5000 * LLAMA.kv_bytes_per_token
    expected_s = bytes_read / RTX4090.memory_bandwidth_bytes_per_s
    assert peak_roofline().duration_s(batch) == pytest.approx(expected_s, rel=1e-12)


def test_roofline_long_prefill_is_arithmetic_over_peak(make_batch: MakeBatch) -> None:
    pairs = sum(range(50_001, 52_001))
    flops = 2 * 2000 * LLAMA.num_params + pairs * 4 * 32 * 32 * 128
    expected_s = flops / RTX4090.flops_per_s
    batch = make_batch((0, 50_000, 2000, 1))
    assert peak_roofline().duration_s(batch) == pytest.approx(expected_s, rel=1e-12)


def test_roofline_efficiency_and_overhead_slow_a_step_down(make_batch: MakeBatch) -> None:
    step_time = RooflineStepTime(
        LLAMA, RTX4090, bandwidth_efficiency=0.5, flops_efficiency=1.0, overhead_s=0.25
    )
    batch = make_batch((0, 99, 1, 1))
    expected_s = 0.25 + 2 * peak_roofline().duration_s(batch)
    assert step_time.duration_s(batch) == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.1, float("nan")])
def test_roofline_refuses_efficiency_beyond_the_peak(share: float) -> None:
    with pytest.raises(ConfigError, match="share of the peak"):
        RooflineStepTime(LLAMA, RTX4090, flops_efficiency=share)


def test_duration_is_a_plain_float(make_batch: MakeBatch) -> None:
    batch = make_batch((0, 99, 1, 1), (1, 0, 5, 0))
    assert type(peak_roofline().duration_s(batch)) is float
    assert not isinstance(batch.num_tokens, np.generic)
