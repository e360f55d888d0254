"""The exported schedule: valid trace events whose spans tell what the engine did."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.chrome_trace import ChromeTrace, chrome_trace
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.scheduler.batch import Batch, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

MakeRequest = Callable[..., Request]
Events = list[dict]

BLOCK_SIZE = 4
NUM_BLOCKS = 8
ONE_SECOND = AffineStepTime(base_s=1.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)


class StopsFirst(SimulatedExecutor):
    """Ends the first sequence of the batch in the third step."""

    def execute(self, batch: Batch) -> StepResult:
        result = super().execute(batch)
        result.is_stopped[0] |= batch.step == 2
        return result


def make_engine(
    trace: ChromeTrace,
    *,
    num_blocks: int = NUM_BLOCKS,
    executor: type[SimulatedExecutor] = SimulatedExecutor,
    **options: Any,
) -> Engine:
    """Build an engine whose steps take a second and whose pool holds 32 tokens."""
    cache = CacheConfig(
        num_blocks=num_blocks,
        block_size=BLOCK_SIZE,
        max_model_len=128,
        watermark=0.0,
        num_host_blocks=NUM_BLOCKS,
    )
    limits: dict[str, Any] = {"max_num_seqs": 8, "max_num_batched_tokens": 8}
    config = SchedulerConfig(**(limits | options))
    scheduler = Scheduler(config, make_allocator(cache, max_rows=8), max_model_len=128)
    return Engine(scheduler, executor(ONE_SECOND, 8), VirtualClock(), observers=(trace,))


@pytest.fixture
def trace_of() -> Callable[..., Events]:
    """Return a function that serves requests, optionally interfering, and gives the events."""

    def serve(
        requests: Iterable[Request],
        *,
        num_steps: int | None = None,
        before_step: Callable[[Engine, int], object] = lambda _engine, _step: None,
        **options: Any,
    ) -> Events:
        file = io.StringIO()
        trace = ChromeTrace(file)
        engine = make_engine(trace, **options)
        for request in requests:
            engine.add_request(request)
        step = 0
        while engine.has_work and step != num_steps:
            before_step(engine, step)
            engine.step()
            step += 1
        trace.close()
        return json.loads(file.getvalue())["traceEvents"]

    return serve


def of_kind(events: Events, kind: str) -> Events:
    return [one for one in events if one["ph"] == kind]


def steps_of(events: Events) -> Events:
    return [one for one in of_kind(events, "X") if one["pid"] == 1]


def spans_of(events: Events, request_id: str) -> list[tuple[str, float, float]]:
    """List (phase, start in s, end in s) of one request, in the order they were written."""
    label = f"request {request_id}"
    (tid,) = [one["tid"] for one in of_kind(events, "M") if one["args"]["name"] == label]
    return [
        (one["name"], one["ts"] / 1e6, (one["ts"] + one["dur"]) / 1e6)
        for one in of_kind(events, "X")
        if (one["pid"], one["tid"]) == (2, tid)
    ]


def test_a_request_is_queued_then_prefilled_in_chunks_then_decoded(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of(
        [make_request("a", 12, 3)],
        before_step=lambda engine, step: engine.clock.advance(0.5) if step == 0 else None,
    )
    assert spans_of(events, "a") == [
        ("queued", 0.0, 0.5),
        ("prefill", 0.5, 2.5),
        ("decode", 2.5, 4.5),
    ]


def test_steps_carry_their_token_counts(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    steps = steps_of(trace_of([make_request("a", 12, 2)]))
    assert [one["args"]["tokens"] for one in steps] == [8, 4, 1]
    assert [one["args"]["sampled_tokens"] for one in steps] == [0, 1, 1]
    assert [one["name"] for one in steps] == ["8 tokens", "4 tokens", "1 tokens"]
    assert [(one["ts"], one["dur"]) for one in steps] == [(0, 1e6), (1e6, 1e6), (2e6, 1e6)]


def test_counters_follow_the_pool_and_the_queues_until_all_have_left(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of([make_request("a", 8, 2), make_request("b", 8, 1)])
    queues = [
        (one["ts"] / 1e6, *one["args"].values())
        for one in of_kind(events, "C")
        if one["name"] == "requests"
    ]
    # at s, running, waiting, swapped: b gets the budget that a leaves
    assert queues == [(0, 1, 1, 0), (1, 2, 0, 0), (2, 1, 0, 0), (3, 0, 0, 0)]
    slots = [one["args"] for one in of_kind(events, "C") if one["name"] == "KV slots"]
    assert [one["token"] for one in slots] == [8, 16, 8, 0]
    assert {sum(one.values()) for one in slots} == {NUM_BLOCKS * BLOCK_SIZE}


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_preempted_request_shows_the_gap(
    make_request: MakeRequest, trace_of: Callable[..., Events], preemption: str
) -> None:
    requests = [make_request("first", 8, 20), make_request("second", 8, 20)]
    events = trace_of(requests, preemption=preemption)
    assert [name for name, _, _ in spans_of(events, "first")] == ["queued", "prefill", "decode"]
    names = [name for name, _, _ in spans_of(events, "second")]
    assert names[:4] == ["queued", "prefill", "decode", "preempted"]
    assert names[4:] == {"recompute": ["prefill", "decode"], "swap": ["decode"]}[preemption]


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_spans_of_a_request_follow_each_other_to_its_end(
    make_request: MakeRequest, trace_of: Callable[..., Events], preemption: str
) -> None:
    events = trace_of([make_request(str(i), 6, 18) for i in range(6)], preemption=preemption)
    num_gaps = 0
    for index in range(6):
        spans = spans_of(events, str(index))
        assert spans[0][:2] == ("queued", 0.0)
        assert all(before[2] == after[1] for before, after in pairwise(spans))
        assert spans[-1][0] == "decode"
        num_gaps += sum(name == "preempted" for name, _, _ in spans)
    assert num_gaps == sum(one["args"]["preempted"] for one in steps_of(events)) > 0


def test_a_request_that_the_budget_leaves_out_is_not_preempted(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    # From 1 s on the five sequences of the group take the whole budget. At 2 s they need five
    # blocks more: the latest request is preempted, the other one only has no turn.
    events = trace_of(
        [
            make_request("group", 3, 6, num_sequences=5),
            make_request("idle", 1, 3),
            make_request("latest", 1, 3),
        ],
        max_num_batched_tokens=5,
        num_blocks=11,
    )
    assert [one["args"]["preempted"] for one in steps_of(events)][:4] == [0, 0, 1, 0]
    assert spans_of(events, "idle") == [
        ("queued", 0.0, 0.0),
        ("prefill", 0.0, 1.0),
        ("decode", 1.0, 8.0),
    ]
    assert spans_of(events, "latest")[2:4] == [("decode", 1.0, 2.0), ("preempted", 2.0, 6.0)]


def test_a_group_has_one_track_that_ends_with_its_last_sequence(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of([make_request("group", 4, 3, num_sequences=2)])
    assert spans_of(events, "group") == [
        ("queued", 0.0, 0.0),
        ("prefill", 0.0, 1.0),
        ("decode", 1.0, 3.0),
    ]


def test_a_group_goes_on_when_one_of_its_sequences_has_ended(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    requests = [make_request("group", 4, 6, num_sequences=2)]
    events = trace_of(requests, executor=StopsFirst)
    assert [one["args"]["sequences"] for one in steps_of(events)] == [1, 2, 2, 1, 1, 1]
    assert spans_of(events, "group") == [
        ("queued", 0.0, 0.0),
        ("prefill", 0.0, 1.0),
        ("decode", 1.0, 6.0),
    ]


def test_an_unfinished_request_is_drawn_to_the_last_step(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of([make_request("a", 4, 9)], num_steps=2)
    assert spans_of(events, "a")[-1] == ("decode", 1.0, 2.0)


def test_a_request_aborted_in_the_queue_was_only_queued(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of(
        [make_request("a", 8, 9), make_request("b", 8, 9)],
        num_steps=2,
        before_step=lambda engine, step: engine.abort("b") if step == 1 else None,
    )
    assert spans_of(events, "b") == [("queued", 0.0, 2.0)]


def test_a_request_aborted_while_it_runs_ends_with_its_last_step(
    make_request: MakeRequest, trace_of: Callable[..., Events]
) -> None:
    events = trace_of(
        [make_request("a", 4, 9), make_request("b", 4, 9)],
        before_step=lambda engine, step: engine.abort("b") if step == 3 else None,
    )
    assert spans_of(events, "b") == [
        ("queued", 0.0, 0.0),
        ("prefill", 0.0, 1.0),
        ("decode", 1.0, 3.0),
    ]


def write(path: Path, requests: Iterable[Request]) -> dict:
    with chrome_trace(path) as trace:
        engine = make_engine(trace)
        for request in requests:
            engine.add_request(request)
        while engine.has_work:
            engine.step()
    return json.loads(gzip.decompress(path.read_bytes()))


def test_a_file_holds_well_formed_events(make_request: MakeRequest, tmp_path: Path) -> None:
    content = write(tmp_path / "a.json.gz", [make_request(str(i), 6, 18) for i in range(4)])
    events = content["traceEvents"]
    for one in events:
        assert {"name", "ph", "pid", "tid", "ts"} <= set(one)
        assert isinstance(one["ts"], int)
        assert one["ph"] in {"M", "X", "C"}
        assert ("dur" in one) == (one["ph"] == "X")
        assert one.get("dur", 0) >= 0
    assert {one["name"] for one in of_kind(events, "C")} == {"KV slots", "requests"}


def test_equal_schedules_give_equal_bytes(make_request: MakeRequest, tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        write(tmp_path / name, [make_request(str(i), 6, 18) for i in range(4)])
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert (tmp_path / "b.json.gz").read_bytes() == packed
    # gzip's own header has neither a time nor a name
    assert packed[3:8] == bytes(5)


def test_a_file_is_whole_after_an_exception(make_request: MakeRequest, tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"

    def serve_one_step() -> None:
        with chrome_trace(path) as trace:
            engine = make_engine(trace)
            engine.add_request(make_request("a", 4, 9))
            engine.step()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve_one_step()
    content = json.loads(gzip.decompress(path.read_bytes()))
    assert spans_of(content["traceEvents"], "a")[-1] == ("decode", 1.0, 1.0)
