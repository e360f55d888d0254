"""A native kernel that fails, whichever it is, fails the requests of its step and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from paged.engine.llm import LLM
from paged.engine.outputs import RequestOutput
from paged.errors import RequestFailed
from paged.kernel.backends import host_program
from paged.kernel.backends.host_program import HostCall
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.tiny_llm import StepLog, check_empty, tiny_llm

PROMPTS = ["the quick brown fox", "the quick brown cat sat on", "zebra crossing"]
PARAMS = SamplingParams(temperature=0.8, seed=5, n=2, max_tokens=16, ignore_eos=True)
# Chunks, prefixes in the cache, groups that fork, are swapped out and in, and recorded decode.
OPTIONS: dict[str, Any] = {
    **{"max_num_batched_tokens": 16, "max_num_seqs": 6, "num_blocks": 24, "preemption": "swap"},
}
MOVES = ("paged_host_copy_blocks", "paged_host_swap_blocks")
RECORDING = "recording"

Calls = list[str]


class Broken(Exception):
    """What an injected failure raises."""


@contextmanager
def counted_calls(fails: int | None = None, *, is_late: bool = False) -> Iterator[Calls]:
    """Yield the names of what runs, of which one fails before or after it has."""
    ran: Calls = []
    run, replay = HostCall.run, host_program._run

    def counted(name: str, function: Callable[[], None]) -> None:
        number = len(ran)
        ran.append(name)
        if number != fails or is_late:
            function()
        if number == fails:
            raise Broken(f"{name}, call {number}")

    def counted_run(call: HostCall) -> None:
        counted(call.function.__name__, lambda: run(call))

    def counted_replay(*operands: Any) -> None:
        counted(RECORDING, lambda: replay(*operands))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostCall, "run", counted_run)
        patch.setattr(host_program, "_run", counted_replay)
        yield ran


def served(llm: LLM) -> list[RequestOutput]:
    """Return what comes of all prompts, failed ones included."""
    try:
        return llm.generate(PROMPTS, PARAMS)
    except RequestFailed as failed:
        return [each for each in failed.outputs if isinstance(each, RequestOutput)]


def tokens_of(outputs: list[RequestOutput]) -> list[list[list[int]]]:
    return [[each.tokens for each in output.outputs] for output in outputs]


def check_failed(outputs: list[RequestOutput], wanted: list[list[list[int]]]) -> None:
    """Assert that some requests failed as wholes, and that all did what they would have."""
    has_failed = [isinstance(output.outputs[0].error, Broken) for output in outputs]
    assert any(has_failed)
    for output, is_broken, expected in zip(outputs, has_failed, wanted, strict=True):
        for each, whole in zip(output.outputs, expected, strict=True):
            assert isinstance(each.error, Broken) == is_broken
            assert each.reason is (FinishReason.ERROR if is_broken else FinishReason.LENGTH)
            assert each.tokens == (whole[: len(each.tokens)] if is_broken else whole)


def chosen(calls: Calls, interval: int) -> list[int]:
    """Return the calls of each kernel at an interval, and all that move blocks."""
    numbers: dict[str, list[int]] = {}
    for number, name in enumerate(calls):
        numbers.setdefault(name, []).append(number)
    parts = [each[:: 1 if name in MOVES else interval] for name, each in numbers.items()]
    return [number for part in parts for number in part]


@pytest.mark.parametrize(
    "interval", [29, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_any_call_of_a_run_may_fail(interval: int) -> None:
    llm, log = tiny_llm(**OPTIONS), StepLog()
    llm.engine.observers = (*llm.engine.observers, log)
    with counted_calls() as calls:
        wanted = tokens_of(served(llm))
    assert {*MOVES, RECORDING, "paged_host_attention", "paged_host_linear"} <= set(calls)
    assert all(log.count(what) for what in ("copies", "swap_out", "swap_in"))
    for number in chosen(calls, interval):
        broken = tiny_llm(**OPTIONS)
        with counted_calls(number, is_late=number % 2 == 1):
            check_failed(served(broken), wanted)
            assert tokens_of(served(broken)) == wanted
        check_empty(broken)
