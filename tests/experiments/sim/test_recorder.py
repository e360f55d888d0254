"""The recorder on real engines small enough to work out by hand; every step takes 1 s."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments.sim.record import CLASSES, RunRecord
from experiments.sim.recorder import Recorder
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.scheduler.request import Request, length_only_prompt
from paged.scheduler.scheduler import Scheduler

ONE_SECOND = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)

Serve = Callable[..., RunRecord]


@pytest.fixture
def serve() -> Serve:
    """Serve (prompt, output) pairs, all queued at 0, in blocks of 4 with max length 16."""

    def run(
        allocator_name: str,
        lengths: list[tuple[int, int]],
        *,
        num_blocks: int = 8,
        max_num_batched_tokens: int | None = None,
        lookahead: int = 0,
    ) -> RunRecord:
        config = CacheConfig(
            num_blocks=num_blocks,
            block_size=4,
            max_model_len=16,
            allocator=allocator_name,
            watermark=0.0,
        )
        batching = ALLOCATORS[allocator_name].batching
        allocator = make_allocator(config, max_rows=8)
        scheduler = Scheduler(
            SchedulerConfig(
                max_num_seqs=8,
                max_num_batched_tokens=max_num_batched_tokens,
                batching=batching,
                lookahead=lookahead,
            ),
            allocator,
            max_model_len=16,
        )
        clock = VirtualClock()
        recorder = Recorder(allocator, is_static=batching == "static")
        executor = SimulatedExecutor(ONE_SECOND, max_rows=8)
        engine = Engine(scheduler, executor, clock, observers=(recorder,))
        for index, (num_prompt, num_output) in enumerate(lengths):
            engine.add_request(
                Request(
                    request_id=str(index),
                    prompt_tokens=length_only_prompt(num_prompt),
                    max_new_tokens=16 - num_prompt,
                    final_new_tokens=num_output,
                )
            )
        while engine.has_work:
            engine.step()
        return recorder.finish()

    return run


def classes(record: RunRecord) -> list[tuple[int, ...]]:
    columns = (record.steps[name].astype(int).tolist() for name in CLASSES)
    return list(zip(*columns, strict=True))


def test_paged_classes_step_by_step(serve):
    record = serve("paged", [(3, 3)])
    # stores 3, 4, 5 tokens; final = 3 + 3 - 1 = 5, so block 2 of 4 slots has 3 internal
    #                          token reserved internal rounding cached free
    assert classes(record) == [(3, 1, 0, 0, 0, 28), (4, 0, 0, 0, 0, 28), (5, 0, 3, 0, 0, 24)]
    assert record.steps["computed_tokens"].tolist() == [3, 1, 1]
    assert record.steps["new_tokens"].tolist() == [1, 1, 1]
    assert record.steps["running"].tolist() == [1, 1, 1]
    assert record.capacity_slots == 32


def test_reserved_classes_step_by_step(serve):
    record = serve("reserved-max", [(3, 2)])
    assert classes(record) == [(3, 1, 12, 0, 0, 16), (4, 0, 12, 0, 0, 16)]


def test_times_of_a_request(serve):
    record = serve("paged", [(3, 3), (2, 1)])
    assert record.requests["finished_s"].tolist() == [1.0, 3.0]
    assert record.requests["admitted_s"].tolist() == [0.0, 0.0]
    assert record.requests["first_token_s"].tolist() == [1.0, 1.0]
    assert record.requests["output_tokens"].tolist() == [1, 3]
    assert record.steps["start_s"].tolist() == [0.0, 1.0, 2.0]


def test_the_first_token_comes_when_the_last_chunk_of_the_prompt_has_run(serve):
    record = serve("paged", [(10, 2)], max_num_batched_tokens=4)
    # chunks of 4, 4, 2, then one decode step
    assert record.steps["computed_tokens"].tolist() == [4, 4, 2, 1]
    assert record.requests["first_token_s"].tolist() == [3.0]
    assert record.requests["finished_s"].tolist() == [4.0]


def test_waiting_for_memory_is_told_from_waiting_for_budget(serve):
    # two blocks are too few for the second request until the first has left
    memory = serve("reserved-max", [(3, 2), (3, 1)], num_blocks=4)
    assert memory.steps["is_memory_blocked"].tolist() == [1, 1, 0]
    assert memory.steps["waiting"].tolist() == [1, 1, 0]
    budget = serve("paged", [(4, 1), (4, 1)], max_num_batched_tokens=4)
    assert budget.steps["is_memory_blocked"].tolist() == [0, 0]
    assert budget.steps["waiting"].tolist() == [1, 0]


def test_static_counts_a_finished_request_as_internal_until_the_batch_ends(serve):
    record = serve("static", [(3, 1), (3, 3), (2, 1)])
    # two reservations of 16; the third request waits for the whole batch
    assert classes(record) == [
        (6, 2, 24, 0, 0, 0),
        (4, 1, 27, 0, 0, 0),
        (5, 0, 27, 0, 0, 0),
        (2, 0, 14, 0, 0, 16),
    ]
    assert record.steps["running"].tolist() == [2, 1, 1, 1]
    assert record.steps["is_memory_blocked"].tolist() == [1, 1, 1, 0]


def test_a_preempted_request_keeps_its_first_times(serve):
    # both prompts fit 4 blocks, both outputs do not: the later one is preempted
    record = serve("paged", [(7, 8), (7, 8)], num_blocks=4)
    assert record.steps["preempted"].sum() >= 1
    assert record.steps["recomputed_tokens"].sum() > 0
    assert record.requests["first_token_s"].tolist() == [1.0, 1.0]
    assert record.requests["admitted_s"].tolist() == [0.0, 0.0]
    assert record.steps["new_tokens"].sum() == 16


def test_a_row_that_changed_hands_does_not_draw_for_its_last_request(serve):
    # The third request is preempted at 12 s, before its prompt is complete. Its row goes to
    # the fourth, which overtakes it and has drawn before.
    record = serve(
        "paged",
        [(7, 7), (8, 7), (10, 3), (2, 4)],
        num_blocks=6,
        max_num_batched_tokens=4,
        lookahead=2,
    )
    assert record.steps["start_s"][record.steps["preempted"] > 0].tolist() == [5.0, 7.0, 12.0]
    assert record.requests["finished_s"].tolist() == [8.0, 14.0, 17.0, 19.0]
    assert record.requests["first_token_s"].tolist() == [2.0, 5.0, 5.0, 17.0]


def test_holes_of_a_contiguous_pool(serve):
    record = serve("reserved-max", [(3, 2)])
    assert record.holes is not None
    # sampled at step 0 only: 4 of 8 blocks in one run of [4, 8) blocks
    assert record.holes.step.tolist() == [0]
    assert record.holes.index.tolist() == [0.0]
    assert record.holes.counts.tolist() == [[0, 0, 1, 0]]
    assert serve("paged", [(3, 2)]).holes is None


@pytest.mark.parametrize("name", list(ALLOCATORS))
def test_classes_sum_to_the_capacity_in_every_step(serve, name):
    lengths = [(1 + 3 * i % 7, 1 + 5 * i % 9) for i in range(20)]
    record = serve(name, lengths)
    assert len(record.requests["finished_s"]) == 20
    assert {sum(step) for step in classes(record)} == {32}
    assert record.steps["new_tokens"].sum() == sum(output for _, output in lengths)
