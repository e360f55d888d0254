"""Problems of the operations on the cache."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.ops.cache_problems import CASES, cache_problems
from paged.kernel.registry import find_op


def test_cases_cover_types_and_odd_sizes() -> None:
    assert {c.kv_t for c in CASES} >= {torch.float16, torch.bfloat16, torch.float8_e4m3fn}
    assert any(c.head_dim % 8 for c in CASES)
    assert any(c.num_tokens == 0 for c in CASES)
    assert {1, 8, 16} <= {c.block_size for c in CASES}


def test_slots_are_distinct_and_some_are_skipped() -> None:
    for problem in cache_problems(find_op("write_kv")):
        slots = problem.operands[3]
        assert slots is not None
        kept = slots[slots >= 0]
        assert len(kept.unique()) == len(kept)
        assert len(slots) == 0 or (slots == -1).any()


@pytest.mark.parametrize("name", ["copy_blocks", "swap_blocks"])
def test_pairs_do_not_overlap(name: str) -> None:
    for problem in cache_problems(find_op(name)):
        pairs = problem.operands[-1]
        assert pairs is not None
        assert len(pairs.flatten().unique()) == pairs.numel()
