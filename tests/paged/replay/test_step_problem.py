"""The contents of a step's call follow from its place and seed; it is judged by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paged.replay.calls import CALLS
from paged.replay.step_problem import StepSource
from tests.helpers.recorded_runs import recorded_batches
from tests.helpers.replayed_calls import CPU, all_calls, calls_of


@pytest.mark.parametrize("op", CALLS)
def test_contents_follow_from_step_and_seed(op: str, grouped_run: Path) -> None:
    batch, first = next(all_calls(op, grouped_run))
    same, other = (calls_of(op, batch, seed=seed)[0] for seed in (0, 1))
    given = zip(*(each.problem.operands for each in (first, same, other)), strict=True)
    tensors = [each for each in given if each[0] is not None and each[0].is_floating_point()]
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b, _ in tensors)
    assert any(not torch.equal(a.nan_to_num(), c.nan_to_num()) for a, _, c in tensors)


@pytest.mark.parametrize("op", [op for op in CALLS if op != "attention"])
def test_a_call_that_does_nothing_is_wrong(op: str, grouped_run: Path) -> None:
    _, call = next(all_calls(op, grouped_run))
    untouched = [t for t in call.problem.operands if t is not None and t.dim() == 6]
    exact = call.exact()
    assert call.problem.judge(exact) is None
    # the pool is the last result; what is gathered is compared with zeros
    wrong = torch.zeros_like(exact[-1]) if op == "gather_kv" else untouched[-1]
    assert call.problem.judge((*exact[:-1], wrong)) is not None


def test_places_draw_apart() -> None:
    sources = [StepSource(place=place, seed=0, device=CPU) for place in (0, 1)]
    first, second = (torch.randn(9, generator=source.generator()) for source in sources)
    assert not torch.equal(first, second)


def test_integers_get_memory_of_their_own() -> None:
    source = StepSource(place=0, seed=0, device=CPU)
    numbers = np.arange(3)
    tensor = source.on_device(numbers)
    numbers += 1
    assert tensor.tolist() == [0, 1, 2]
    assert source.on_device(numbers, np.int32).dtype == torch.int32


def test_the_text_tells_the_size(grouped_run: Path) -> None:
    batch = next(recorded_batches(grouped_run))
    text = (
        f"step 0: sequences {batch.num_seqs}, tokens {batch.num_tokens} (longest"
        f" {batch.num_scheduled.max()}), keys {batch.num_tokens} (longest"
        f" {batch.seq_lens.max()})"
    )
    for op in ("attention", "write_kv", "rope_write_kv", "gather_kv"):
        assert [each.text for each in calls_of(op, batch)] == [text]
