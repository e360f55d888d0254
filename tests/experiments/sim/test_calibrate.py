"""Calibration on a run whose costs are known, because it was simulated with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from experiments.sim.calibrate import (
    CACHE,
    GPU,
    MODEL,
    NUM_FIT_ROUNDS,
    Replay,
    fit,
    score,
    solve_non_negative,
)
from experiments.sim.calibrate import replay as replay_run
from experiments.sim.measured_run import MeasuredRun
from experiments.workload import Workload, WorkloadError
from paged.engine.step_time import AffineStepTime

TRUTH = AffineStepTime(
    base_s=0.030,
    context_s_per_token=MODEL.kv_bytes_per_token / GPU.memory_bandwidth_bytes_per_s,
    scheduled_s_per_token=150e-6,
)


@pytest.fixture(scope="module")
def run() -> MeasuredRun:
    """Simulate a run with TRUTH that fills the pool and preempts; pretend it was measured."""
    rng = np.random.default_rng(0)
    prompts, outputs = rng.integers(200, 3000, 60), rng.integers(50, 400, 60)
    num_blocks = -(-prompts // CACHE.block_size)
    ends = np.cumsum(num_blocks)
    workload = Workload(
        name="synthetic",
        source="test",
        prompt_tokens=prompts,
        output_tokens=outputs,
        num_rows_read=60,
        prompt_block_ids=tuple(
            np.arange(end - num, end) for end, num in zip(ends, num_blocks, strict=True)
        ),
        hash_block_size=CACHE.block_size,
    )
    blank = np.zeros(0)
    empty = MeasuredRun(
        workload=workload,
        tick_s=np.arange(1.0, 51.0),
        running=blank,
        waiting=blank,
        kv_pct=blank,
        prompt_tokens=blank,
        new_tokens=blank,
        arrival_s=np.sort(rng.uniform(0.0, 8.0, 60)),
        first_token_s=blank,
        finished_s=blank,
    )
    return measured_as(empty, replay_run(empty, TRUTH))


def measured_as(run: MeasuredRun, seen: Replay) -> MeasuredRun:
    return replace(
        run,
        running=seen.running,
        waiting=seen.waiting,
        kv_pct=seen.kv_pct,
        prompt_tokens=seen.prompt_tokens,
        new_tokens=seen.new_tokens,
        first_token_s=seen.first_token_s,
        finished_s=seen.finished_s,
    )


def test_the_run_is_a_hard_one(run: MeasuredRun) -> None:
    seen = replay_run(run, TRUTH)
    recomputed = seen.computed_tokens.sum() - seen.prompt_tokens.sum() - seen.new_tokens.sum()
    assert recomputed > 2_000
    assert run.kv_pct.max() > 95.0
    assert run.waiting.max() > 5


def test_known_costs_are_found_again(run: MeasuredRun) -> None:
    estimates: list[AffineStepTime] = []
    found = fit(run, on_round=estimates.append)
    assert len(estimates) == NUM_FIT_ROUNDS
    # Without the unrecorded tokens the base cost comes out too high.
    assert estimates[0].base_s > 1.02 * TRUTH.base_s > found.base_s
    assert found.base_s == pytest.approx(TRUTH.base_s, rel=0.05)
    assert found.scheduled_s_per_token == pytest.approx(TRUTH.scheduled_s_per_token, rel=0.05)
    assert found.context_s_per_token == TRUTH.context_s_per_token


def test_a_fit_never_sees_the_second_half(run: MeasuredRun) -> None:
    half = run.num_fit_ticks
    changed = {
        name: np.concatenate([getattr(run, name)[:half], np.full(len(run.tick_s) - half, 7.0)])
        for name in ("running", "waiting", "kv_pct", "prompt_tokens", "new_tokens")
    }
    blank = np.full(len(run.workload), np.nan)
    hidden = replace(run, **changed, first_token_s=blank, finished_s=blank)
    assert fit(hidden) == fit(run)


def test_a_perfect_replay_scores_zero(run: MeasuredRun) -> None:
    one = score(run, replay_run(run, TRUTH))
    assert (one.running_mae, one.kv_mae_points) == (0.0, 0.0)
    assert (one.ttft_error_pct, one.latency_error_pct) == (0.0, 0.0)


def test_score_measures_only_unfitted_states_and_all_requests(run: MeasuredRun) -> None:
    half = run.num_fit_ticks
    unseen = np.arange(len(run.tick_s)) >= half
    seen = replay_run(run, TRUTH)
    other = replace(
        seen,
        running=seen.running + np.where(unseen, 2.0, 50.0),
        kv_pct=seen.kv_pct - np.where(unseen, 3.0, 50.0),
        finished_s=run.arrival_s + 1.1 * (run.finished_s - run.arrival_s),
    )
    one = score(run, other)
    assert one.running_mae == pytest.approx(2.0)
    assert one.kv_mae_points == pytest.approx(3.0)
    assert one.latency_error_pct == pytest.approx(10.0)


def test_a_replay_may_stop_early(run: MeasuredRun) -> None:
    whole, part = replay_run(run, TRUTH), replay_run(run, TRUTH, until_s=10.0)
    assert np.array_equal(part.running[:10], whole.running[:10])
    assert part.computed_tokens[11:].sum() == 0
    assert np.isnan(part.finished_s).any()


def test_an_idle_run_is_refused(run: MeasuredRun) -> None:
    idle = replace(run, running=np.zeros(len(run.tick_s)))
    with pytest.raises(WorkloadError, match="requests running at every tick"):
        fit(idle)


@pytest.mark.parametrize("seed", range(5))
def test_non_negative_least_squares_agrees_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(20, 3)), rng.normal(size=20)
    expected, _ = nnls(matrix, target)
    np.testing.assert_allclose(solve_non_negative(matrix, target), expected, atol=1e-12)
