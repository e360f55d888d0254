"""From options to trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.options import HEADLINE, Options
from experiments.plan import BLOCK_SIZES, COMPLETIONS, WATERMARKS, make_plan
from experiments.workload import WorkloadError
from paged.errors import ConfigError


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Azure trace of six rows, the longest of 3,000 tokens; one generates nothing."""
    path = tmp_path / "tiny.csv"
    rows = [(100, 10), (200, 20), (2_900, 100), (300, 0), (400, 40), (500, 50)]
    lines = [f"2023-11-16 18:15:{i:02}.0000000,{p},{o}" for i, (p, o) in enumerate(rows)]
    path.write_text("\r\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines]))
    return path


def test_the_default_is_the_papers_pool_and_several_seeds():
    plan = make_plan(Options())
    setup = plan.setup
    assert (setup.model.name, setup.gpu.name) == ("opt-13b", "a100-40gb")
    assert (setup.kv_slots, setup.max_model_len) == (15_728, 2_048)
    assert setup.max_num_batched_tokens is None
    assert list(plan.workloads) == [0, 1, 2]
    assert {trial.allocator for trial in plan.headline} == set(HEADLINE)
    assert len(plan.headline) == 3 * len(HEADLINE)
    assert len({len(workload) for workload in plan.workloads.values()}) == 1
    assert len(plan.workloads[0]) > COMPLETIONS + 2 * 34


def test_sweeps_pass_through_the_headline_and_run_it_once():
    plan = make_plan(Options(seeds=1))
    assert tuple(trial.block_size for trial in plan.block_sizes) == BLOCK_SIZES
    assert tuple(trial.watermark for trial in plan.watermarks) == WATERMARKS
    assert len(plan.trials) == len(HEADLINE) + len(BLOCK_SIZES) - 1 + len(WATERMARKS) - 1


def test_sweeps_are_of_paged_and_can_be_left_out():
    assert make_plan(Options(allocators=("static",), seeds=1)).block_sizes == ()
    plan = make_plan(Options(no_ablations=True, seeds=1))
    assert (plan.block_sizes, plan.watermarks) == ((), ())


def test_blocks_that_leave_no_room_for_a_request_are_left_out():
    plan = make_plan(Options(kv_slots=2_048 + 40, seeds=1, allocators=("paged",)))
    assert plan.block_sizes[-1].block_size == 256
    plan = make_plan(Options(kv_slots=2_047, max_model_len=2_032, seeds=1, allocators=("paged",)))
    assert max(trial.block_size for trial in plan.block_sizes) == 16


@pytest.mark.parametrize(
    ("options", "slots"),
    [
        (Options(kv_gib=1.0), 2**30 // 819_200),
        (Options(kv_gib=1.0, kv_slots=5_000), 5_000),
        # nine tenths of 80 GiB, less weights of 2 bytes, at 128 KiB a token
        (
            Options(model="llama-3-8b", gpu="a100-80gb"),
            (72 * 2**30 - 2 * 8_030_261_248) // 2**17,
        ),
    ],
)
def test_pool_sizes(options, slots):
    options = replace(options, max_model_len=1_024, num_requests=10, allocators=("paged",))
    assert make_plan(options).setup.kv_slots == slots


def test_a_custom_model_sets_the_pool(tmp_path):
    shape = tmp_path / "mine.json"
    shape.write_text(
        '{"num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "head_dim": 64,'
        ' "hidden_size": 256, "intermediate_size": 512, "vocab_size": 1000,'
        ' "num_params": 1000000}'
    )
    plan = make_plan(Options(model=str(shape), kv_gib=0.25, seeds=1, num_requests=10))
    assert plan.setup.model.name == "mine"
    assert plan.setup.kv_slots == 2**28 // (2 * 2 * 2 * 64 * 2)


def test_a_trace_keeps_every_row_it_can(trace):
    plan = make_plan(Options(trace=trace, kv_slots=20_000))
    assert plan.setup.max_model_len == 4_096
    assert (plan.setup.model.name, plan.setup.gpu.name) == ("llama-3-8b", "h100-sxm")
    assert list(plan.workloads) == [0]
    workload = plan.workloads[0]
    assert (workload.num_rows_read, len(workload)) == (6, 5)
    assert sum(workload.dropped.values()) == 1


def test_rows_beyond_the_length_limit_are_dropped_by_name(trace):
    plan = make_plan(Options(trace=trace, kv_slots=20_000, max_model_len=1_024, num_requests=3))
    workload = plan.workloads[0]
    assert (workload.num_rows_read, len(workload)) == (6, 3)
    assert sorted(workload.dropped.values()) == [1, 1, 1]
    assert "prompt + output exceeds max_model_len 1024" in workload.dropped


def test_quantiles_are_a_workload(tmp_path):
    path = tmp_path / "cdf.csv"
    path.write_text("quantile,prompt_tokens,output_tokens\n0,10,5\n0.5,50,20\n1,400,300\n")
    plan = make_plan(Options(cdf=path, kv_slots=20_000, seeds=2, num_requests=50))
    assert [len(workload) for workload in plan.workloads.values()] == [50, 50]
    assert plan.setup.max_model_len == 2_048


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (Options(model="gpt-9"), ConfigError, "unknown model 'gpt-9'"),
        (Options(gpu="abacus"), ConfigError, "unknown GPU 'abacus'"),
        (Options(allocators=("paged", "slab")), ConfigError, "unknown allocator 'slab'"),
        (Options(kv_slots=2_000), ConfigError, "pool of 2000 slots is smaller than one request"),
        (Options(kv_gib=1e-6), ConfigError, "less than one token of opt-13b"),
        (Options(kv_gib=2.0**20), ConfigError, "KV pool would have 1374389534 slots, expected at"),
        (
            Options(max_num_seqs=2**16, max_model_len=2**25),
            ConfigError,
            "lower --max-num-seqs or --max-model-len",
        ),
        (Options(block_size=16_384), ConfigError, "a block of 16384 slots is larger than the pool"),
        (Options(page_kib=64), ConfigError, "less than one block of 16"),
        (Options(trace=Path("nowhere.csv")), WorkloadError, "nowhere.csv"),
        (Options(max_model_len=4), WorkloadError, "no request is left"),
        (Options(model="opt-175b", gpu="l4"), ConfigError, "needs .* GiB for weights"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(options, error, message):
    with pytest.raises(error, match=message):
        make_plan(options)
