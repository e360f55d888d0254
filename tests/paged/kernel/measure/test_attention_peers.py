"""Torch's attention is right on every kind of batch that is timed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from paged.kernel.measure import attention_peers
from paged.kernel.measure.attention_peers import flex_attention, gather_sdpa, sdpa
from paged.kernel.measure.candidate import Candidate, fault_of
from tests.helpers.measured import CPU, with_shape

SHAPES: dict[str, dict[str, Any]] = {
    "ragged decode": {},
    "equal decode": {"seq_lens": (17, 17)},
    "no groups": {"group_size": 1},
    "whole prompt": {"seq_lens": (20,), "query_lens": (20,)},
    "append": {"seq_lens": (20, 33), "query_lens": (5, 1)},
    "fp8": {"q_t": "bfloat16", "kv_t": "float8_e4m3fn"},
}


def fault(prepare: Any, shape: dict[str, Any]) -> str | None:
    workload = with_shape(**shape)
    problems = [workload.build(CPU, seed) for seed in (1, 2)]
    return fault_of(Candidate(name="peer", prepare=prepare, is_peer=True), "attention", problems)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize("prepare", [sdpa, gather_sdpa])
def test_sdpa_is_right(prepare: Any, shape: dict[str, Any]) -> None:
    assert fault(prepare, shape) is None


@pytest.mark.parametrize("name", ["ragged decode", "append"])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.nn.attention import flex_attention as flex

    # compiling takes a minute on a CPU
    monkeypatch.setattr(attention_peers, "_compiled_flex", lambda: flex.flex_attention)
    assert fault(flex_attention, SHAPES[name]) is None


def test_contiguous_keys_are_copied_beforehand() -> None:
    problem = with_shape().build(CPU, 1)
    call, gathering = sdpa(problem), gather_sdpa(problem)
    pool = problem.operands[1]
    assert pool is not None
    before = call()[0]
    pool.zero_()
    assert torch.equal(call()[0], before)
    assert not torch.equal(gathering()[0], before)
