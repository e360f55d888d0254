"""The exported schedule: valid JSON whose spans tell what the engine did."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.chrome_trace import ChromeTrace
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

MakeRequest = Callable[..., Request]

BLOCK_SIZE = 4
NUM_BLOCKS = 8
ONE_SECOND = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)


def make_engine(trace: ChromeTrace, *, preemption: str = "recompute") -> Engine:
    """Build an engine whose steps take a second and whose pool holds 32 tokens."""
    cache = CacheConfig(
        num_blocks=NUM_BLOCKS,
        block_size=BLOCK_SIZE,
        max_model_len=128,
        watermark=0.0,
        num_host_blocks=NUM_BLOCKS,
    )
    config = SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=8, preemption=preemption)
    scheduler = Scheduler(config, make_allocator(cache, max_rows=8), max_model_len=128)
    executor = SimulatedExecutor(ONE_SECOND, 8)
    return Engine(scheduler, executor, VirtualClock(), observers=(trace,))


def run(engine: Engine) -> None:
    while engine.has_work:
        engine.step()


def events_of(trace: ChromeTrace, phase: str) -> list[dict]:
    return [one for one in json.loads(trace.to_json())["traceEvents"] if one["ph"] == phase]


def spans_of(trace: ChromeTrace, request_id: str) -> list[tuple[str, float, float]]:
    """List (phase, start in s, end in s) of one request, in order."""
    label = f"request {request_id}"
    (tid,) = [one["tid"] for one in events_of(trace, "M") if one["args"]["name"] == label]
    return [
        (one["name"], one["ts"] / 1e6, (one["ts"] + one["dur"]) / 1e6)
        for one in events_of(trace, "X")
        if one["pid"] == 2 and one["tid"] == tid
    ]


def test_a_request_is_queued_then_prefilled_in_chunks_then_decoded(
    make_request: MakeRequest,
) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.clock.advance(0.5)
    engine.add_request(make_request("a", 12, 3))
    run(engine)
    assert spans_of(trace, "a") == [
        ("queued", 0.0, 0.5),
        ("prefill", 0.5, 2.5),
        ("decode", 2.5, 4.5),
    ]


def test_steps_carry_their_token_counts(make_request: MakeRequest) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("a", 12, 2))
    run(engine)
    steps = [one for one in events_of(trace, "X") if one["pid"] == 1]
    assert [one["args"]["tokens"] for one in steps] == [8, 4, 1]
    assert [one["args"]["sampled_tokens"] for one in steps] == [0, 1, 1]
    assert [one["name"] for one in steps] == ["8 tokens", "4 tokens", "1 tokens"]
    assert [(one["ts"], one["dur"]) for one in steps] == [(0, 1e6), (1e6, 1e6), (2e6, 1e6)]


def test_counters_follow_the_pool_and_the_queues(make_request: MakeRequest) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("a", 8, 2))
    engine.add_request(make_request("b", 8, 1))
    run(engine)
    counters = events_of(trace, "C")
    queues = [one["args"] for one in counters if one["name"] == "requests"]
    slots = [one["args"] for one in counters if one["name"] == "KV slots"]
    assert queues[0] == {"running": 1, "waiting": 1}
    assert slots[0]["token"] == 8
    assert {sum(one.values()) for one in slots} == {NUM_BLOCKS * BLOCK_SIZE}


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_preempted_request_shows_the_gap(make_request: MakeRequest, preemption: str) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace, preemption=preemption)
    engine.add_request(make_request("first", 8, 20))
    engine.add_request(make_request("second", 8, 20))
    run(engine)
    assert [name for name, _, _ in spans_of(trace, "first")] == ["queued", "prefill", "decode"]
    names = [name for name, _, _ in spans_of(trace, "second")]
    assert names[:4] == ["queued", "prefill", "decode", "preempted"]
    assert names[4:] == {"recompute": ["prefill", "decode"], "swap": ["decode"]}[preemption]


def test_spans_of_a_request_follow_each_other_to_its_end(make_request: MakeRequest) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    for index in range(6):
        engine.add_request(make_request(str(index), 6, 18))
    run(engine)
    preemptions = 0
    for index in range(6):
        spans = spans_of(trace, str(index))
        assert all(before[2] == after[1] for before, after in pairwise(spans))
        assert spans[-1][0] == "decode"
        preemptions += sum(name == "preempted" for name, _, _ in spans)
    steps = [one for one in events_of(trace, "X") if one["pid"] == 1]
    assert preemptions == sum(one["args"]["preempted"] for one in steps) > 0


def test_a_group_has_one_track_that_ends_with_its_last_sequence(
    make_request: MakeRequest,
) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("group", 4, 3, num_sequences=2))
    run(engine)
    assert spans_of(trace, "group")[-1] == ("decode", 1.0, engine.now_s)


def test_an_unfinished_request_is_drawn_to_the_last_step(make_request: MakeRequest) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("a", 4, 9))
    engine.step()
    engine.step()
    assert spans_of(trace, "a")[-1] == ("decode", 1.0, 2.0)
    assert trace.to_json() == trace.to_json()


def test_a_request_aborted_in_the_queue_was_only_queued(make_request: MakeRequest) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("a", 8, 9))
    engine.add_request(make_request("b", 8, 9))
    engine.step()
    engine.abort("b")
    engine.step()
    assert spans_of(trace, "b") == [("queued", 0.0, 2.0)]


def test_the_file_is_the_json(make_request: MakeRequest, tmp_path: Path) -> None:
    trace = ChromeTrace()
    engine = make_engine(trace)
    engine.add_request(make_request("a", 8, 2))
    run(engine)
    path = tmp_path / "trace.json"
    trace.write(path)
    content = json.loads(path.read_text())
    assert content == json.loads(trace.to_json())
    assert all({"name", "ph", "pid"} <= set(one) for one in content["traceEvents"])
