"""Calls on the cache: every slot and block once, and torch's indexing gets them right."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.measure.cache_workloads import RowShape, builds_of
from tests.helpers.measured import CPU


def operand(op: str, index: int) -> torch.Tensor:
    (build,) = builds_of(op, on_gpu=False).values()
    tensor = build(CPU, 1).operands[index]
    assert tensor is not None
    return tensor


def test_slots_are_distinct_and_inside_of_the_pool() -> None:
    slots = [int(slot) for slot in operand("write_kv", 3)]
    assert len(set(slots)) == len(slots) == 64
    assert 0 <= min(slots) <= max(slots) < 128


@pytest.mark.parametrize(("op", "index"), [("copy_blocks", 1), ("swap_blocks", 2)])
def test_sources_and_destinations_are_distinct_blocks(op: str, index: int) -> None:
    assert sorted(int(block) for block in operand(op, index).flatten()) == list(range(8))


def test_keys_and_values_are_slices_of_one_projection() -> None:
    key, value = operand("write_kv", 0), operand("write_kv", 1)
    assert key.stride() == value.stride() == (4 * 64, 64, 1)


def test_the_pool_is_twice_as_large_as_needed() -> None:
    assert RowShape(num_tokens=100, num_seqs=2).num_blocks == 2 * 2 * 4


def test_a_gather_reads_distinct_blocks() -> None:
    tables = operand("gather_kv", 1)
    assert tables.shape == (2, 2)
    assert len({int(block) for block in tables.flatten()}) == 4


@pytest.mark.parametrize("op", ["write_kv", "rope_write_kv", "gather_kv", "copy_blocks"])
def test_a_smaller_call_differs_in_length_alone(op: str) -> None:
    whole = builds_of(op, on_gpu=False)["tiny"](CPU, 1).operands
    for build in builds_of(op, on_gpu=True, smaller=True).values():
        smaller = [t for t in build(CPU, 1).operands if t is not None]
        assert len(smaller) == len([t for t in whole if t is not None])
        assert {t.shape[-1] for t in smaller if t.dtype == torch.bfloat16} <= {128, 0}
        assert sum(t.numel() for t in smaller) < 2**21


def test_the_gpu_gets_more() -> None:
    assert list(builds_of("copy_blocks", on_gpu=True)) == ["pairs-1", "pairs-32", "pairs-256"]
    assert list(builds_of("gather_kv", on_gpu=True)) == ["b1-s4k", "b8-s4k"]
