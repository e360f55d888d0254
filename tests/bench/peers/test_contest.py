"""Rounds are interleaved, checked and compared."""

from __future__ import annotations

from typing import Any

import pytest

from bench.peer import PeerFailed
from bench.peers.contest import Result, WrongOutput, best_of, ratio, run_contest, run_round
from bench.peers.entries import ENTRIES, Entry
from bench.peers.load import PeerLoad
from bench.peers.report import goals, lines

BATCH = PeerLoad(prompts=[[1], [2]], output_tokens=[2, 4])
SINGLE = PeerLoad(prompts=[[1]], output_tokens=[2])


def entry(name: str) -> Entry:
    return next(each for each in ENTRIES if each.name == name)


class Scripted:
    """Answers as a contestant of a given speed, and writes down who was asked."""

    def __init__(self, name: str, calls: list[str], *, seconds: float, lost: int = 0) -> None:
        self._name, self._calls, self._seconds, self._lost = name, calls, seconds, lost

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        if op == "floor":
            return {"read_s": 0.125, "compute_s": sum(arguments["output_tokens"]) / 24.0}
        if len(arguments["prompts"]) == 2:
            self._calls.append(self._name)
        num_drawn = sum(arguments["output_tokens"]) - self._lost
        return {"seconds": self._seconds, "num_drawn": num_drawn}


class Dying(Scripted):
    """Ends in the first round that counts, after its batch."""

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        if self._calls.count("late") == 2:
            raise PeerFailed("the peer ended with status 1 at 'round':\nTraceback\nMemoryError")
        return super().ask(op, **arguments)


def result(name: str, rates: list[float]) -> Result:
    return Result(entry=entry(name), versions={"x": "1"}, batch_tokens_per_s=rates)


def test_rounds_interleave_and_the_first_does_not_count() -> None:
    calls: list[str] = []
    ours = Result(entry=entry("paged-bfloat16"), versions={})
    theirs = Result(entry=entry("vllm-float32"), versions={})
    run_contest(
        [
            (ours, Scripted("a", calls, seconds=0.5)),
            (theirs, Scripted("b", calls, seconds=2.0)),
        ],
        batch=BATCH,
        single=SINGLE,
        num_rounds=3,
        on_round=lambda _: None,
        pause_s=0.0,
    )
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert ours.batch_tokens_per_s == [12.0] * 3
    assert theirs.batch_tokens_per_s == [3.0] * 3
    assert ours.single_tokens_per_s == [4.0] * 3
    assert ours.floor_tokens_per_s == [8.0] * 3
    assert not theirs.floor_tokens_per_s
    vllm, floor = goals([ours, theirs])
    assert ours.bound_tokens_per_s == [24.0] * 3
    assert (vllm.value, vllm.least, vllm.bound) == (4.0, 5.0, 8.0)
    assert vllm.line.endswith("MISSED (arithmetic allows 8.00)")
    assert (floor.value, floor.least, floor.bound) == (0.5, 0.7, None)


def test_whoever_fails_is_left_out_and_the_others_go_on() -> None:
    said: list[str] = []
    ours = Result(entry=entry("paged-bfloat16"), versions={})
    early, late = (Result(entry=entry(name), versions={}) for name in ("vllm-float32", "llama-f16"))
    calls: list[str] = []
    results = run_contest(
        [
            (early, Scripted("early", calls, seconds=1.0, lost=1)),
            (late, Dying("late", calls, seconds=1.0)),
            (ours, Scripted("ours", calls, seconds=1.0)),
        ],
        batch=BATCH,
        single=SINGLE,
        num_rounds=3,
        on_round=said.append,
        pause_s=0.0,
    )
    assert results == [ours]
    assert len(ours.batch_tokens_per_s) == 3
    outs = [line for line in said if " is left out: " in line]
    assert outs == [
        "vllm-float32 is left out: expected 2 tokens, got 1: this is no comparison; look at the"
        " worker's flags",
        "llama-f16 is left out: the peer ended with status 1 at 'round': MemoryError",
    ]
    assert said.index(outs[1]) > said.index("round 1: llama-f16")
    assert "round 1: vllm-float32" not in said
    assert "round 2: llama-f16" not in said


def test_without_anyone_there_is_nothing_to_run() -> None:
    none = run_contest([], batch=BATCH, single=SINGLE, num_rounds=2, on_round=print)
    assert none == []
    assert lines(none, threads=1)


def test_a_contestant_that_stops_early_is_no_comparison() -> None:
    with pytest.raises(WrongOutput, match="expected 6 tokens, got 5"):
        run_round(Scripted("a", [], seconds=1.0, lost=1), BATCH)


def test_a_peer_is_held_against_us_in_its_best_configuration_and_at_equal_bits() -> None:
    results = [
        result("paged-bfloat16", [90.0, 100.0, 110.0]),
        result("paged-int8", [150.0, 150.0, 150.0]),
        result("vllm-float32", [10.0, 10.0, 10.0]),
        result("vllm-bfloat16", [5.0, 99.0, 5.0]),
        result("llama-f16", [80.0, 80.0, 80.0]),
        result("llama-q8_0", [200.0, 200.0, 200.0]),
    ]
    best = best_of(results, "vllm")
    assert best is not None
    assert best.entry.name == "vllm-float32"
    found = {goal.text: (goal.value, goal.least) for goal in goals(results)}
    assert found == {
        "paged-bfloat16 over vllm-float32, batch": (10.0, 5.0),
        "paged-bfloat16 over llama-f16, batch": (1.25, 1.0),
        "paged-int8 over llama-q8_0, batch": (0.75, 1.0),
    }
    assert best_of(results, "transformers") is None


def test_a_ratio_is_the_median_of_pairs() -> None:
    assert ratio([10.0, 1.0, 10.0], [5.0, 1.0, 2.0]) == 2.0


def test_raw_numbers_and_flags_are_shown() -> None:
    text = "\n".join(lines([result("transformers-float32", [1.0, 2.5, 3.0])], threads=2))
    assert "on 2 threads" in text
    assert "'batch_size': 16" in text
    assert "2.5   1.0 2.5 3.0" in text
