"""Padded decode steps: what they hold, where, and that padding neither stores nor counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from model_zoo.batch import ModelBatch
from model_zoo.tiny import CONFIG
from model_zoo.transformer import forward
from paged.allocator.block_table import BlockTables
from paged.config import CacheConfig
from paged.engine.decode_inputs import DecodeInputs
from paged.engine.kv_pool import make_pools
from paged.engine.model_inputs import ModelInputs
from paged.scheduler.batch import Batch
from tests.helpers.tiny_llm import tiny_model

DEVICE = torch.device("cpu")
BLOCK_SIZE, NUM_BLOCKS = 16, 64
SEQUENCES = ((2, 40, 1, 1), (1, 4, 1, 1), (5, 16, 1, 1))


@pytest.fixture
def inputs() -> DecodeInputs:
    return DecodeInputs(max_rows=8, max_blocks_per_row=8, num_groups=1, device=DEVICE)


@pytest.fixture
def batch(make_batch: Callable[..., Batch]) -> Batch:
    made = make_batch(*SEQUENCES)
    made.tokens[:] = np.arange(8 * 128).reshape(8, 128) % CONFIG.vocab_size
    made.tables.ids[:] = 8 * np.arange(8)[:, None] + np.arange(8)
    return made


def _tensors(batch: ModelBatch) -> tuple[torch.Tensor, ...]:
    group = batch.groups[0]
    flat = (batch.tokens, batch.positions, batch.query_start, batch.seq_lens)
    return (*flat, group.block_tables, group.slot_mapping)


def test_sequences_come_first_and_padding_reads_and_stores_nothing(
    inputs: DecodeInputs, batch: Batch
) -> None:
    inputs.fill(batch, 4)
    made = inputs.batch(4)
    assert made.tokens.tolist() == [(2 * 128 + 40) % 258, 128 + 4, (5 * 128 + 16) % 258, 0]
    assert made.positions.tolist() == [40, 4, 16, 0]
    assert made.query_start.tolist() == [0, 1, 2, 3, 3]
    assert made.seq_lens.tolist() == [41, 5, 17, 0]
    assert made.max_query_len == 1
    assert made.logit_rows is None
    assert made.groups[0].slot_mapping.tolist() == [18 * 16 + 8, 8 * 16 + 4, 41 * 16, -1]
    assert made.groups[0].block_tables.shape == (4, 8)
    assert made.groups[0].block_tables[:3, :3].tolist() == [
        *([16, 17, 18], [8, 9, 10], [40, 41, 42])
    ]


def test_types_and_strides_are_those_that_kernels_read(inputs: DecodeInputs) -> None:
    dtypes = [tensor.dtype for tensor in _tensors(inputs.batch(4))]
    # tokens too: a recorded embedding would convert others at each step
    assert dtypes == [torch.int64, torch.int64, *[torch.int32] * 3, torch.int64]
    assert all(tensor.is_contiguous() for tensor in _tensors(inputs.batch(4)))


def test_addresses_and_shapes_of_a_size_never_change(
    inputs: DecodeInputs, make_batch: Callable[..., Batch]
) -> None:
    seen = set()
    for number, count in ((3, 1), (60, 2), (100, 4)):
        inputs.fill(make_batch(*[(row, number, 1, 1) for row in range(count)]), 4)
        tensors = _tensors(inputs.batch(4))
        seen.add(tuple((t.data_ptr(), t.shape, t.stride()) for t in tensors))
    assert len(seen) == 1


def test_nothing_of_a_larger_step_is_left_in_the_padding(
    inputs: DecodeInputs, batch: Batch, make_batch: Callable[..., Batch]
) -> None:
    inputs.fill(make_batch(*[(row, 50, 1, 1) for row in range(8)]), 8)
    inputs.fill(batch, 8)
    made = inputs.batch(8)
    assert made.query_start.tolist() == [0, 1, 2, 3, 3, 3, 3, 3, 3]
    for tensor, padding in ((made.seq_lens, 0), (made.tokens, 0), (made.positions, 0)):
        assert tensor[3:].tolist() == [padding] * 5
    assert made.groups[0].slot_mapping[3:].tolist() == [-1] * 5


def test_each_kv_group_has_its_own_tables_and_slots(batch: Batch) -> None:
    inputs = DecodeInputs(max_rows=8, max_blocks_per_row=8, num_groups=2, device=DEVICE)
    other = BlockTables(max_rows=8, max_model_len=128, block_size=BLOCK_SIZE)
    other.ids[:] = 7
    shared = inputs.batch(4).groups
    inputs.fill(batch, 4)
    assert torch.equal(shared[0].block_tables, shared[1].block_tables)
    assert torch.equal(shared[0].slot_mapping, shared[1].slot_mapping)
    inputs.fill(replace(batch, group_tables=(*batch.group_tables, other)), 4)
    own = inputs.batch(4).groups
    assert own[0].block_tables[:3, 0].tolist() == [16, 8, 40]
    assert own[1].block_tables[:3, 0].tolist() == [7, 7, 7]
    assert own[1].slot_mapping.tolist() == [7 * 16 + 8, 7 * 16 + 4, 7 * 16, -1]


def test_a_cleared_batch_is_all_padding(inputs: DecodeInputs, batch: Batch) -> None:
    inputs.fill(batch, 4)
    inputs.clear(4)
    made = inputs.batch(4)
    assert made.seq_lens.tolist() == [0] * 4
    assert made.query_start.tolist() == [0] * 5
    assert made.groups[0].slot_mapping.tolist() == [-1] * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [3, 4, 8])
def test_padding_changes_no_bit_of_logits_or_pool(
    inputs: DecodeInputs, batch: Batch, size: int, dtype: torch.dtype
) -> None:
    plain = ModelInputs(max_tokens=8, max_rows=8, max_blocks_per_row=8, num_groups=1, device=DEVICE)
    inputs.fill(batch, size)
    # no entry beyond what a sequence has reached may be read
    inputs.batch(size).groups[0].block_tables[3:] = 10**9
    results: list[tuple[torch.Tensor, torch.Tensor]] = []
    for made in (plain.make(batch, None), inputs.batch(size)):
        pools = make_pools(
            CONFIG,
            CacheConfig(num_blocks=NUM_BLOCKS, block_size=BLOCK_SIZE),
            dtype=dtype,
            device=DEVICE,
        )
        pools.device[0].copy_(torch.randn(pools.device[0].shape, generator=torch.manual_seed(1)))
        with torch.inference_mode():
            logits = forward(tiny_model().params, tiny_model().config, pools.device, made)
        results.append((logits, pools.device[0].view(torch.uint8)))
    (wanted, wanted_pool), (padded, pool) = results
    assert len(padded) == size
    assert torch.equal(padded[:3], wanted)
    assert torch.equal(pool, wanted_pool)
    assert torch.isfinite(padded).all()
