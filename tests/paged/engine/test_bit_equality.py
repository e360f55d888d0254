"""One request, one result: bit for bit the same whatever the engine does around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest

from paged.engine.llm import LLM
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import KINDS, Draw, StepLog, check_empty, recorded_logits, tiny_llm

# Some begin alike, one is exactly of whole blocks, one is a group.
PROMPTS = (
    *("the quick brown fox", "the quick brown cat sat on", "the quick brown fox"),
    *("a", "zebra crossing ahead of the bend in the road", "0123456789abcdef"),
)
PARAMS = tuple(
    SamplingParams(
        n=3 if i == 1 else 1,
        temperature=[0.0, 0.8, 1.3][i % 3],
        top_p=[1.0, 0.9][i % 2],
        frequency_penalty=[0.0, 0.7][i % 2],
        seed=100 + i,
        max_tokens=12 + 3 * i,
        ignore_eos=True,
    )
    for i in range(len(PROMPTS))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What an engine made of all requests."""

    tokens: list[list[list[int]]]
    logits: dict[Draw, bytes]
    log: StepLog = field(default_factory=StepLog)


def _run(llm: LLM, patch: pytest.MonkeyPatch, *, is_alone: bool = False) -> Run:
    log = StepLog()
    llm.engine.observers = (*llm.engine.observers, log)
    with recorded_logits(patch) as logits:
        if is_alone:
            outputs = [llm.generate(*each)[0] for each in zip(PROMPTS, PARAMS, strict=True)]
        else:
            outputs = llm.generate(PROMPTS, PARAMS)
    check_empty(llm)
    tokens = [[each.tokens for each in output.outputs] for output in outputs]
    return Run(tokens=tokens, logits=logits, log=log)


@lru_cache(maxsize=len(KINDS))
def _alone(kind: str) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        llm = tiny_llm(kind, enable_prefix_caching=False)
        return _run(llm, patch, is_alone=True)


def _assert_same(run: Run, wanted: Run) -> None:
    assert run.tokens == wanted.tokens
    assert run.logits.keys() == wanted.logits.keys()
    differing = [draw for draw, values in run.logits.items() if values != wanted.logits[draw]]
    assert not differing


SCENARIOS: dict[str, dict[str, Any]] = {
    "batch": {},
    "chunked": {"max_num_batched_tokens": 7},
    "one token a step": {"max_num_batched_tokens": 1},
    "few rows": {"max_num_seqs": 3},
    "preemption by recompute": {"num_blocks": 24, "enable_prefix_caching": False},
    "preemption and prefix hits": {"num_blocks": 24},
    "preemption by swap": {"num_blocks": 24, "preemption": "swap"},
    "full host pool": {"num_blocks": 24, "preemption": "swap", "num_host_blocks": 6},
    "larger blocks": {"block_size": 32, "num_blocks": 32},
    "odd blocks": {"block_size": 5},
    "one thread": {"num_threads": 1},
    "three threads": {"num_threads": 3},
    **{
        allocator: {"allocator": allocator, "num_blocks": 24 * 8}
        for allocator in ("reserved-max", "reserved-pow2", "static", "virtual")
    },
}
HAPPENS = {
    "preemption by recompute": ("num_preempted", "num_recomputed_tokens"),
    "preemption and prefix hits": ("num_preempted",),
    "preemption by swap": ("swap_out", "swap_in", "copies"),
    "full host pool": ("swap_out", "num_recomputed_tokens"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_tokens_and_logits_are_those_of_the_request_alone(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(tiny_llm(kind, **SCENARIOS[name]), monkeypatch)
    _assert_same(run, _alone(kind))
    for what in HAPPENS.get(name, ()):
        assert run.log.count(what), f"{what} never happened"


@pytest.mark.parametrize("kind", KINDS)
def test_cached_prefixes_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = tiny_llm(kind, num_blocks=128)
    first = _run(llm, monkeypatch)
    second = _run(llm, monkeypatch)
    admitted = [each for batch in second.log.batches for each in batch.admitted]
    # All but the shortest, which fills no block.
    assert sum(each.num_cached_tokens > 0 for each in admitted) == len(PROMPTS) - 1
    _assert_same(first, _alone(kind))
    _assert_same(second, _alone(kind))
