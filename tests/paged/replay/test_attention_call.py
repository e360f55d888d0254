"""The attention call of a recorded step has its lengths, and needs no poison."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paged.kernel.choice import use_kernel
from paged.kernel.operator import op_call
from paged.replay.shape import ReplayShape
from tests.helpers.replayed_calls import SHAPE, WINDOWED, all_calls, operand


def test_lengths_are_the_batch_s(grouped_run: Path) -> None:
    for batch, call in all_calls("attention", grouped_run):
        assert operand("attention", call, "query").shape == (batch.num_tokens, 4, 16)
        assert operand("attention", call, "seq_lens").tolist() == batch.seq_lens.tolist()
        assert operand("attention", call, "query_start").tolist() == batch.query_start.tolist()
        assert call.problem.numbers["max_query_len"] == batch.num_scheduled.max()


@pytest.mark.parametrize("shape", [SHAPE, WINDOWED], ids=["all keys", "window"])
def test_what_no_query_sees_is_not_needed(grouped_run: Path, shape: ReplayShape) -> None:
    for _, call in all_calls("attention", grouped_run, shape):
        with use_kernel(attention="host"):
            out, lse = op_call("attention", *call.problem.operands, **call.problem.numbers)
        assert torch.isfinite(out).all()
        assert call.problem.judge((out, lse)) is None
        assert [each.shape for each in call.exact()] == [out.shape]
