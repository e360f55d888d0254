"""A watch: everything in one report, for one engine after the other."""

from __future__ import annotations

from typing import Any

import pytest

from paged.config import GroupConfig
from paged.server.shadow import SHADOWS
from paged.server.watch import PAGE_BYTES, Watch, watch_of
from tests.helpers.random_traffic import Traffic
from tests.helpers.tiny_llm import tiny_llm, tiny_model
from tests.helpers.toy_engine import ToyEngine, make_toy_engine


def _watched(watch: Watch, **values: Any) -> ToyEngine:
    values = {"num_blocks": 16, "max_model_len": 32} | values
    toy = make_toy_engine(**values)
    toy.engine.observers = (*toy.engine.observers, watch)
    return toy


def test_a_report_tells_all_of_one_moment() -> None:
    watch = Watch(kernels={"attention": "v2"}, token_bytes=PAGE_BYTES // 16)
    toy = _watched(watch)
    for name in "abc":
        toy.add(name, [ord(name)] * 5, num_new=6)
    assert watch.report(toy.engine).measured.counts.steps == 0
    toy.step()
    report = watch.report(toy.engine)
    assert report.snapshot.num_with("running") == 3
    assert report.measured.counts.generation_tokens == 3
    # The toy's step takes a second.
    assert report.slot_seconds == report.snapshot.slots
    assert [shadow.name for shadow in report.shadows] == list(SHADOWS)
    # A page of sixteen tokens is four blocks, and the third request finds one left.
    assert report.shadows[2].classes["granted_unused"] == 3 * (16 - 5)
    assert report.kernels == {"attention": "v2"}


def test_totals_begin_again_with_another_engine() -> None:
    watch = Watch(kernels={}, token_bytes=1 << 20)
    for _ in range(2):
        toy = _watched(watch)
        toy.add("a", [1] * 5, num_new=2)
        toy.run()
        report = watch.report(toy.engine)
        assert (report.measured.counts.steps, report.measured.finished["length"]) == (2, 1)


def test_groups_with_pools_of_their_own_have_no_shadows() -> None:
    groups = (GroupConfig(num_blocks=8), GroupConfig(num_blocks=8, window=4))
    watch = Watch(kernels={}, token_bytes=1)
    toy = make_toy_engine(num_blocks=16, groups=groups)
    assert watch.report(toy.engine).shadows == ()


def test_a_watch_of_a_model_knows_its_kernels_and_the_size_of_its_tokens() -> None:
    llm = tiny_llm(kernels={"attention": "reference"})
    watch = watch_of(llm.config, tiny_model())
    llm.engine.observers = (*llm.engine.observers, watch)
    llm.generate(["hello", "you"])
    report = watch.report(llm.engine)
    assert report.kernels["attention"] == "reference"
    assert report.measured.finished["length"] + report.measured.finished["stop"] == 2
    assert sum(report.slot_seconds.values()) == pytest.approx(
        llm.engine.scheduler.allocator.capacity_slots * report.measured.histograms["step_s"].total
    )


@pytest.mark.parametrize(
    "options",
    [
        {"preemption": "swap", "num_host_blocks": 12},
        {"max_num_batched_tokens": 9},
        {"windows": (8, None), "max_num_batched_tokens": 9},
        {"allocator": "static", "num_blocks": 96},
    ],
    ids=["swap", "chunked", "groups", "static"],
)
def test_it_outlives_failures_and_keeps_nothing_of_requests_that_are_gone(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    traffic = Traffic(3, failure_rate=0.05, **options)
    watch = Watch(kernels={}, token_bytes=PAGE_BYTES // 4)
    traffic.engine.observers = (watch, *traffic.engine.observers)
    for num_requests in (40, 80):
        # What a watch raised would end requests with an error that is not the injected one.
        traffic.run(num_requests, monkeypatch)
        report = watch.report(traffic.engine)
        assert report.snapshot.requests == ()
        ended = {reason: traffic.ended[reason] for reason in ("error", "abort", "length", "stop")}
        assert sum(report.measured.finished.values()) == sum(ended.values())
        assert report.measured.finished["error"] == ended["error"] > 0
        for shadow in report.shadows:
            assert (shadow.num_held, shadow.num_waiting) == (0, 0)
    watched = watch._watched
    assert watched is not None
    assert not watched.meter._lives
    assert not watched.usage._earlier
    assert watched.shadows is None or not watched.shadows._lives
