"""The problems of every operation."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.binding import bind
from paged.kernel.ops.problems import ATTENTION_CASES, problems_of
from paged.kernel.registry import OP_NAMES, find_op


@pytest.mark.parametrize("name", OP_NAMES)
def test_problems_are_calls_of_the_operation_and_repeat(name: str) -> None:
    op = find_op(name)
    first, second = list(problems_of(op)), list(problems_of(op))
    assert len({p.name for p in first}) == len(first) >= 6
    for a, b in zip(first, second, strict=True):
        bind(op.signature, a.operands, a.numbers)
        assert a.numbers == b.numbers
        for x, y in zip(a.operands, b.operands, strict=True):
            assert (x is None) == (y is None)
            if x is not None and y is not None:
                assert torch.equal(x.float().nan_to_num(9.0), y.float().nan_to_num(9.0))


def test_attention_problems_use_every_feature() -> None:
    cases = ATTENTION_CASES.values()
    assert {c.kv_t for c in cases} == {"float16", "bfloat16", "float32", "float8_e4m3fn"}
    assert any(c.window for c in cases)
    assert any(c.softcap for c in cases)
    assert any(c.has_alibi for c in cases)
    assert any(c.has_sinks for c in cases)
    assert any(c.has_scales for c in cases)
    assert any(max(c.query_lens, default=0) > 1 for c in cases)
    assert any(0 in c.seq_lens for c in cases)
