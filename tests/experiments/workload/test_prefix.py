"""The bound on prefix reuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.workload.errors import WorkloadError
from experiments.workload.prefix import prefix_hit_share
from experiments.workload.traces import load_trace
from experiments.workload.workload import Workload


def make(prompt_tokens: list[int], ids: list[list[int]] | None) -> Workload:
    has_ids = ids is not None
    return Workload(
        name="made",
        source="test",
        prompt_tokens=np.array(prompt_tokens),
        output_tokens=np.ones(len(prompt_tokens), dtype=np.int64),
        num_rows_read=len(prompt_tokens),
        prompt_block_ids=tuple(np.array(row) for row in ids) if has_ids else None,
        hash_block_size=4 if has_ids else None,
    )


def test_only_the_unbroken_leading_run_counts() -> None:
    # Second prompt: block 1 hits, 9 misses, and 3 behind it does not count.
    assert prefix_hit_share(make([12, 12], [[1, 2, 3], [1, 9, 3]])) == 4 / 24


def test_a_block_hits_only_behind_the_same_blocks() -> None:
    assert prefix_hit_share(make([8, 8], [[1, 2], [3, 2]])) == 0.0
    assert prefix_hit_share(make([8, 4], [[1, 2], [2]])) == 0.0


def test_a_partial_last_block_counts_its_tokens() -> None:
    assert prefix_hit_share(make([6, 6], [[1, 2], [1, 2]])) == 6 / 12


def test_without_ids_there_is_no_bound() -> None:
    with pytest.raises(WorkloadError, match="records no block ids"):
        prefix_hit_share(make([8], None))


@pytest.mark.parametrize(
    ("name", "percent"),
    [("mooncake_conversation.jsonl.gz", 37.4), ("sharegpt_multiturn_300_blk16.jsonl.gz", 7.6)],
)
def test_real_traces_reach_their_known_bound(traces_dir: Path, name: str, percent: float) -> None:
    assert 100 * prefix_hit_share(load_trace(traces_dir / name)) == pytest.approx(percent, abs=0.05)
