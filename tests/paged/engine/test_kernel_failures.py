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
# Chunks, a group that waits, groups that fork, are swapped out and in, and recorded decode.
OPTIONS: dict[str, Any] = {
    **{"max_num_batched_tokens": 16, "max_num_seqs": 6, "num_blocks": 24},
    **{"preemption": "swap", "enable_prefix_caching": False},
}

Calls = list[str]


class Broken(Exception):
    """What an injected failure raises."""


@contextmanager
def counted_calls(fails: int | None = None, *, is_late: bool = False) -> Iterator[Calls]:
    """Yield what runs, kernels and recordings, of which one fails before or after it has."""
    ran: Calls = []

    def counted(function: Callable[..., None], kind: str) -> Callable[..., None]:
        def call(*operands: Any) -> None:
            number = len(ran)
            ran.append(kind)
            if number != fails or is_late:
                function(*operands)
            if number == fails:
                raise Broken(f"{kind} {number}")

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostCall, "run", counted(HostCall.run, "kernel"))
        patch.setattr(host_program, "_run", counted(host_program._run, "recording"))
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


# Not a divisor of the calls of a step: each of its kernels has its turn.
FEW = 11


@pytest.mark.parametrize(
    "interval", [FEW, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_any_call_of_a_run_may_fail(interval: int) -> None:
    llm, log = tiny_llm(**OPTIONS), StepLog()
    llm.engine.observers = (*llm.engine.observers, log)
    with counted_calls() as calls:
        wanted = tokens_of(served(llm))
    assert {"kernel", "recording"} == set(calls)
    assert all(log.count(what) for what in ("copies", "swap_out", "swap_in"))
    for number in range(0, len(calls), interval):
        broken = tiny_llm(**OPTIONS)
        with counted_calls(number, is_late=number % 2 == 1):
            check_failed(served(broken), wanted)
            assert tokens_of(served(broken)) == wanted
        check_empty(broken)
