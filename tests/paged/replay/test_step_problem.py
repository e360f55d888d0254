"""The call of a recorded step: its lengths, its shared blocks, and nothing else to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from paged.kernel.choice import use_kernel
from paged.kernel.operator import op_call
from paged.kernel.ops.attention_cases import POISON_BLOCK
from paged.recording.recording import open_recording
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, filled_slots, step_problem
from paged.scheduler.batch import Batch
from tests.helpers.recorded_runs import GROUPS, random_requests, record

CPU = torch.device("cpu")
SHAPE = ReplayShape(num_kv_heads=2, group_size=2, head_dim=16, q_t="float32", kv_t="float32")
WINDOWED = ReplayShape(
    num_kv_heads=1, group_size=1, head_dim=16, q_t="float32", kv_t="float32", window=8, group=1
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording with two KV groups, forks, swaps and chunks."""
    path = tmp_path_factory.mktemp("recorded") / "run"
    options = {"preemption": "swap", "num_blocks": 40, "num_host_blocks": 16}
    record(path, random_requests(4, 16), groups=GROUPS, **options)
    return path


def batches(run: Path) -> Iterator[Batch]:
    with open_recording(run) as recording:
        yield from (step.batch for step in recording.steps() if step.batch.num_seqs)


def problem_of(batch: Batch, shape: ReplayShape = SHAPE, seed: int = 0) -> StepProblem:
    return step_problem(batch, shape, place=batch.step, seed=seed, device=CPU)


def test_lengths_are_the_batch_s(run: Path) -> None:
    for batch in batches(run):
        step = problem_of(batch)
        query, pool, tables, seq_lens, query_start = step.attention.operands[:5]
        assert query is not None
        assert pool is not None
        assert tables is not None
        assert seq_lens is not None
        assert query_start is not None
        assert query.shape == (batch.num_tokens, 4, 16)
        assert seq_lens.tolist() == batch.seq_lens.tolist()
        assert query_start.tolist() == batch.query_start.tolist()
        assert step.attention.numbers["max_query_len"] == batch.num_scheduled.max()
        known = tables[tables != POISON_BLOCK]
        assert sorted(set(known.tolist())) == list(range(len(pool)))
        # which entries are one block is as it was recorded
        ids = torch.from_numpy(batch.block_tables.astype(np.int64))[tables != POISON_BLOCK]
        assert len(set(zip(known.tolist(), ids.tolist(), strict=True))) == len(pool)


@pytest.mark.parametrize("shape", [SHAPE, WINDOWED], ids=["all keys", "window"])
def test_what_no_query_sees_is_poison_and_not_needed(run: Path, shape: ReplayShape) -> None:
    num_poisoned = 0
    for batch in batches(run):
        step = problem_of(batch, shape)
        operands = step.attention.operands
        with use_kernel(attention="host"):
            out, lse = op_call("attention", *operands, **step.attention.numbers)
        assert torch.isfinite(out).all()
        assert step.problem.judge((out, lse)) is None
        pool = operands[1]
        assert pool is not None
        num_poisoned += int(pool.isnan().any(dim=-1).sum())
    assert num_poisoned


def test_the_window_leaves_entries_out(run: Path) -> None:
    num_left = 0
    for batch in batches(run):
        tables = problem_of(batch, WINDOWED).attention.operands[2]
        assert tables is not None
        num_left += int((tables[:, 0] == POISON_BLOCK).sum())
    assert num_left


def test_contents_follow_from_step_and_seed(run: Path) -> None:
    first, second = (problem_of(batch) for batch in list(batches(run))[:1] * 2)
    other = problem_of(next(batches(run)), seed=1)
    query, same, different = (each.attention.operands[0] for each in (first, second, other))
    assert query is not None
    assert same is not None
    assert different is not None
    assert torch.equal(query, same)
    assert not torch.equal(query, different)


def test_the_text_tells_the_size(run: Path) -> None:
    batch = next(batches(run))
    assert problem_of(batch).text == (
        f"step 0: sequences {batch.num_seqs}, tokens {batch.num_tokens} (longest"
        f" {batch.num_scheduled.max()}), keys {batch.num_tokens} (longest"
        f" {batch.seq_lens.max()})"
    )


def test_a_shared_block_is_filled_as_far_as_any_sequence_fills_it() -> None:
    is_seen = np.array([[True, True], [True, False]])
    filled = filled_slots(np.array([6, 2]), np.array([1, 0, 1]), is_seen, 4)
    assert filled.tolist() == [2, 4]
