"""Sequences are grouped by length, and join again in their order."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from paged.kernel.measure.attention_batch import batch_of
from paged.kernel.measure.candidate import Unserved
from tests.helpers.measured import CPU, WORKLOAD, with_shape


def test_equal_lengths_form_a_group() -> None:
    batch = batch_of(WORKLOAD.build(CPU, 1))
    assert [(g.num_seqs, g.query_len, g.seq_len) for g in batch.groups] == [(2, 1, 9), (1, 1, 20)]
    assert [int(t) for t in batch.groups[0].tokens] == [0, 2]
    assert batch.is_decode
    assert batch.group_size == 3


def test_queries_come_back_where_they_were() -> None:
    batch = batch_of(with_shape(seq_lens=(9, 20, 9), query_lens=(2, 3, 2)).build(CPU, 1))
    assert not batch.is_decode
    assert torch.equal(batch.join([batch.queries(g) for g in batch.groups]), batch.query)


@pytest.mark.parametrize("kv_t", ["float32", "float8_e4m3fn"])
def test_gathered_keys_are_those_of_the_blocks(kv_t: str) -> None:
    batch = batch_of(with_shape(kv_t=kv_t).build(CPU, 1))
    group = batch.groups[1]
    kv = batch.gather(group)
    assert kv.shape == (2, 1, 2, 20, 16)
    first, second = (int(block) for block in batch.block_tables[1, :2])
    pool = batch.kv_pool.float()
    assert torch.equal(kv[0, 0, :, :16], pool[first, 0])
    assert torch.equal(kv[1, 0, :, 16:], pool[second, 1, :, :4])


def test_features_that_peers_lack_are_left_out() -> None:
    problem = WORKLOAD.build(CPU, 1)
    windowed = replace(problem, numbers={**problem.numbers, "window": 4})
    with pytest.raises(Unserved, match="plain"):
        batch_of(windowed)
    sunk = replace(problem, operands=(*problem.operands[:6], torch.zeros(6), None))
    with pytest.raises(Unserved, match="plain"):
        batch_of(sunk)
