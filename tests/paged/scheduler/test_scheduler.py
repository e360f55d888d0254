"""The scheduler against an oracle: random lives of requests under every allocator."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.registry import ALLOCATORS
from paged.config import EVICTIONS, CacheConfig, SchedulerConfig
from paged.errors import ConfigError, IntegrityError, RequestRefused
from paged.scheduler.batch import Batch, Finished
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.request_state import RequestState
from tests.helpers.toy_engine import ToyEngine

MAX_MODEL_LEN = 24
MAX_ROWS = 5

# Few kinds of tokens and prompts that come back, so that prefixes are often equal.
prompts = st.one_of(
    st.sampled_from([[0] * 4, [0] * 8, [0] * 12, [0, 1] * 6, [0] * 6 + [1] * 6]),
    st.lists(st.integers(0, 1), min_size=1, max_size=12),
    st.builds(lambda n, tail: [0] * n + tail, st.integers(1, 12), st.lists(st.integers(0, 2))),
).map(lambda tokens: tokens[: MAX_MODEL_LEN - 1])

requests = st.fixed_dictionaries(
    {
        "request_id": st.sampled_from("abcdefgh"),
        "prompt": prompts,
        "num_new": st.one_of(st.integers(1, 14), st.just(2**40)),
        "num_sequences": st.sampled_from([1, 1, 2, 3]),
        "priority": st.integers(0, 2),
    }
)
# Only paged swaps; every other arm preempts by recompute, if at all.
ARMS = {kind.name: (kind.name, "recompute", kind.batching) for kind in ALLOCATORS.values()}
ARMS |= {
    "paged-swap": ("paged", "swap", "continuous"),
    "paged-static": ("paged", "swap", "static"),
    "virtual-static": ("virtual", "recompute", "static"),
}


def most_preemptions(num_blocks: int) -> int:
    """Count the preemptions after which a request waits for a pool of its own."""
    request = Request(request_id="", prompt_tokens=np.zeros(1, np.int32), max_new_tokens=1)
    state = RequestState(request=request, key=(0, 0.0, 0), sequence_indices=[0])
    while state.headroom_blocks(num_blocks) < num_blocks:
        state.num_preemptions += 1
    return state.num_preemptions


class SchedulerMachine(RuleBasedStateMachine):
    """Random arrivals, aborts and steps; the toy engine checks each step."""

    arm: ClassVar[str]

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        allocator, preemption, batching = ARMS[self.arm]
        is_paged = allocator == "paged"
        block_size = data.draw(st.integers(1, 4), "block_size")
        least = math.ceil(MAX_MODEL_LEN / block_size)
        fewest = 3 if allocator in ("paged", "virtual") else least
        cache = CacheConfig(
            num_blocks=data.draw(st.integers(fewest, least + 4), "num_blocks"),
            block_size=block_size,
            max_model_len=MAX_MODEL_LEN,
            allocator=allocator,
            watermark=data.draw(st.sampled_from([0.0, 0.01, 0.2]), "watermark"),
            enable_prefix_caching=is_paged and data.draw(st.booleans(), "prefix caching"),
            eviction=data.draw(st.sampled_from(EVICTIONS), "eviction"),
            num_host_blocks=data.draw(st.integers(0, 12), "num_host_blocks")
            if preemption == "swap"
            else 0,
            blocks_per_page=data.draw(st.integers(1, 2), "blocks_per_page"),
        )
        budget = data.draw(st.one_of(st.none(), st.integers(1, 16)), "budget")
        config = SchedulerConfig(
            max_num_seqs=MAX_ROWS,
            max_num_batched_tokens=budget,
            policy=data.draw(st.sampled_from(["fcfs", "priority"]), "policy"),
            batching=batching,
            preemption=preemption,
            lookahead=data.draw(st.integers(0, 2), "lookahead"),
        )
        self.toy = ToyEngine(cache, config)
        # By identity: an id may be used again before the end of its last use is reported.
        self.open: dict[int, Request] = {}
        self.num_open: dict[int, int] = {}
        self.aborted: set[int] = set()

    @rule(wanted=st.lists(requests, min_size=1, max_size=4))
    def add(self, wanted: list[dict[str, Any]]) -> None:
        for values in wanted:
            request = self.toy.request(**values)
            try:
                self.toy.engine.add_request(request)
            except RequestRefused:
                self.toy.scheduler.check_integrity()
                continue
            self.open[id(request)] = request
            self.num_open[id(request)] = request.num_sequences

    @rule(name=st.sampled_from("abcdefgh"))
    def abort(self, name: str) -> None:
        for _ in range(2):
            self.toy.engine.abort(name)
            self.toy.scheduler.check_integrity()
        self._note_aborted(name)

    @rule(name=st.sampled_from("abcdefgh"), index=st.integers(0, 2))
    def end_sequence(self, name: str, index: int) -> None:
        for _ in range(2):
            self.toy.engine.end_sequence(name, index, FinishReason.ABORT)
            self.toy.scheduler.check_integrity()
        self._note_aborted(name)

    @rule()
    def failing_step(self) -> None:
        self._take_finished(self.toy.fail_step(), can_fail=True)

    def _note_aborted(self, name: str) -> None:
        self.aborted |= {key for key, request in self.open.items() if request.request_id == name}

    @rule(
        names=st.lists(st.sampled_from("abcdefgh"), max_size=4),
        num_steps=st.integers(1, 4),
        is_whole=st.booleans(),
    )
    def step_and_abort(self, names: list[str], num_steps: int, is_whole: bool) -> None:
        def interfere(batch: Batch) -> None:
            for index, name in enumerate(names):
                self.abort(name) if is_whole else self.end_sequence(name, index % 2)

        self.steps(num_steps - 1)
        self.toy.between = interfere
        self.steps(1)
        self.toy.between = None

    @rule(num_steps=st.integers(1, 4))
    def steps(self, num_steps: int) -> None:
        for _ in range(num_steps):
            self._take_finished(self.toy.step())

    def _take_finished(self, finished: list[Finished], *, can_fail: bool = False) -> None:
        for sequence in finished:
            key = id(sequence.request)
            assert (sequence.reason is FinishReason.ERROR) == (sequence.error is not None)
            assert sequence.error is None or can_fail
            assert sequence.reason is not FinishReason.ABORT or key in self.aborted
            if self.toy.scheduler.config.policy == "fcfs":
                assert sequence.num_preemptions <= most_preemptions(self.toy.cache.num_blocks)
            self.num_open[key] -= 1
            if not self.num_open[key]:
                del self.open[key], self.num_open[key]
                self.aborted.discard(key)

    def teardown(self) -> None:
        if not hasattr(self, "open"):
            return
        for _ in range(2_000):
            if not self.toy.engine.has_work:
                break
            self.steps(1)
        assert not self.open
        self.toy.run()


def machine(name: str) -> type[SchedulerMachine]:
    return type("Machine", (SchedulerMachine,), {"arm": name})


@pytest.mark.parametrize("name", ARMS)
def test_random_lives_of_requests_agree_with_the_oracle(name: str) -> None:
    # Only paged shares, swaps and evicts, so it gets most of the search.
    plan = settings.get_profile(settings.get_current_profile_name())
    run_state_machine_as_test(
        machine(name),
        settings=settings(
            plan,
            max_examples=plan.max_examples // (1 if name.startswith("paged") else 5),
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_schedule_and_update_alternate(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a"))
    batch = scheduler.schedule()
    with pytest.raises(ConfigError, match=r"schedule\(\) was called twice; call update\(\) in"):
        scheduler.schedule()
    finish(scheduler, batch)
    with pytest.raises(ConfigError, match=r"update\(\) needs the batch of the latest"):
        finish(scheduler, batch)
    scheduler.check_integrity()


def test_a_result_of_the_wrong_length_changes_nothing(make_scheduler, make_request, finish) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a", num_tokens=4))
    batch = scheduler.schedule()
    with pytest.raises(ConfigError, match="samples 1 tokens, the result has 2 tokens and 1 stop"):
        finish(scheduler, batch, tokens=[1, 2])
    assert scheduler._core.rows.num_tokens[0] == 4
    finish(scheduler, batch, tokens=[1])
    assert scheduler._core.rows.num_tokens[0] == 5


def test_a_refused_request_changes_nothing(make_scheduler, make_request) -> None:
    scheduler = make_scheduler(num_blocks=2)
    for request, text in (
        (make_request("long", num_tokens=32), "prompt of 32 tokens leaves no room for output"),
        (make_request("large", num_tokens=9), "request 'large' can never fit: 9 tokens need 3"),
        (make_request("many", num_sequences=5), "can never fit: 5 sequences exceed the 4"),
    ):
        with pytest.raises(RequestRefused, match=text):
            scheduler.add(request)
    assert not scheduler.has_work
    assert scheduler.num_waiting == 0


def test_unfinished_requests_are_shown_in_order_of_arrival(
    make_scheduler, make_request, step
) -> None:
    scheduler = make_scheduler(num_blocks=1)
    for name in "ba":
        scheduler.add(make_request(name))
    assert list(scheduler.states) == ["b", "a"]
    step(scheduler)
    assert [state.rows for state in scheduler.states.values()] == [[0], []]
    scheduler.abort("b")
    assert list(scheduler.states) == ["a"]


def test_an_integrity_check_sees_a_request_in_two_places(make_scheduler, make_request) -> None:
    scheduler = make_scheduler()
    scheduler.add(make_request("a"))
    scheduler.schedule()
    scheduler._core.waiting.push(scheduler._core.states["a"])
    with pytest.raises(IntegrityError, match="a waits and has rows, or neither"):
        scheduler.check_integrity()


def test_an_integrity_check_sees_a_row_that_nobody_has(make_scheduler) -> None:
    scheduler = make_scheduler()
    scheduler.allocator.tables.take_rows(1)
    with pytest.raises(IntegrityError, match="live rows of the allocator are not exactly"):
        scheduler.check_integrity()


@pytest.mark.parametrize(("running", "text"), [([0, 0], "runs twice"), ([1, 0], "out of order")])
def test_an_integrity_check_sees_a_wrong_order(
    make_scheduler, make_request, step, running: list[int], text: str
) -> None:
    scheduler = make_scheduler()
    for name in "ab":
        scheduler.add(make_request(name))
    step(scheduler)
    scheduler._core.rows.running = np.array(running)
    with pytest.raises(IntegrityError, match=text):
        scheduler.check_integrity()
