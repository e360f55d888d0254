"""Split-KV decode attention in Triton over the same paged pool: a peer to compare with.

A program of `_split` serves all query heads of one KV head over one run of keys; `_combine`
joins the runs of one query head. Imported only where Triton is installed.
"""
# pyright: basic, reportMissingImports=false
# ruff: noqa: PLR0917 (parameters of kernels)

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from paged.kernel.expression import cdiv

_TILE_KEYS = 64
_MIN_ROWS = 16  # the least that tl.dot takes
_WANTED_PROGRAMS = 512
_LOG2_E = 1.4426950408889634


@triton.jit
def _split(
    query, pool, tables, seq_lens, partial, partial_lse, scale_log2, max_blocks,
    block_stride, half_stride, head_stride, slot_stride, num_splits, split_keys,
    HEAD_DIM: tl.constexpr, GROUP_SIZE: tl.constexpr, ROWS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    seq, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first_head = (seq * tl.num_programs(1) + head) * GROUP_SIZE
    rows, dims, keys = tl.arange(0, ROWS), tl.arange(0, HEAD_DIM), tl.arange(0, TILE)
    is_row = rows < GROUP_SIZE
    q_at = (first_head + rows)[:, None] * HEAD_DIM + dims[None, :]
    q = tl.load(query + q_at, mask=is_row[:, None], other=0.0)
    begin = split * split_keys
    end = tl.minimum(begin + split_keys, tl.load(seq_lens + seq))
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, HEAD_DIM], tl.float32)
    for start in range(begin, end, TILE):
        position = start + keys
        is_key = position < end
        entry = tables + seq * max_blocks + position // BLOCK_SIZE
        block = tl.load(entry, mask=is_key, other=0).to(tl.int64)
        at = block * block_stride + head * head_stride + (position % BLOCK_SIZE) * slot_stride
        k = tl.load(pool + at[None, :] + dims[:, None], mask=is_key[None, :], other=0.0)
        v_at = pool + half_stride + at[:, None] + dims[None, :]
        v = tl.load(v_at, mask=is_key[:, None], other=0.0)
        scores = tl.where(is_key[None, :], tl.dot(q, k) * scale_log2, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - new_maximum[:, None])
        factor = tl.exp2(maximum - new_maximum)
        total = total * factor + tl.sum(weights, 1)
        out = out * factor[:, None] + tl.dot(weights.to(v.dtype), v)
        maximum = new_maximum
    is_empty = total == 0.0
    row = (first_head + rows) * num_splits + split
    lse = tl.where(is_empty, float("-inf"), maximum + tl.log2(total))
    tl.store(partial_lse + row, lse, mask=is_row)
    out = out / tl.where(is_empty, 1.0, total)[:, None]
    tl.store(partial + row[:, None] * HEAD_DIM + dims[None, :], out, mask=is_row[:, None])


@triton.jit
def _combine(partial, partial_lse, out, lse, num_splits, HEAD_DIM: tl.constexpr):
    row = tl.program_id(0)
    dims = tl.arange(0, HEAD_DIM)
    maximum = float("-inf")
    total = 0.0
    result = tl.zeros([HEAD_DIM], tl.float32)
    for split in range(num_splits):
        at = row * num_splits + split
        part_lse = tl.load(partial_lse + at)
        new_maximum = tl.maximum(maximum, part_lse)
        # the first split holds a key, so the maximum is finite
        factor = tl.exp2(maximum - new_maximum)
        weight = tl.exp2(part_lse - new_maximum)
        total = total * factor + weight
        result = result * factor + weight * tl.load(partial + at * HEAD_DIM + dims)
        maximum = new_maximum
    tl.store(out + row * HEAD_DIM + dims, (result / total).to(out.dtype.element_ty))
    tl.store(lse + row, (maximum + tl.log2(total)) * 0.6931471805599453)


def decode(
    query: torch.Tensor,
    kv_pool: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return out like query, and lse [num_seqs, num_q_heads].

    Shapes: query [num_seqs, num_q_heads, head_dim], contiguous, head_dim a power of two; kv_pool
    [num_blocks, 2, num_kv_heads, block_size, head_dim]. Every sequence has a key.
    """
    num_seqs, num_q_heads, head_dim = query.shape
    num_kv_heads, block_size = kv_pool.shape[2:4]
    max_blocks = block_tables.shape[1]
    wanted = max(1, _WANTED_PROGRAMS // (num_seqs * num_kv_heads))
    num_tiles = cdiv(max_blocks * block_size, _TILE_KEYS)
    split_keys = cdiv(num_tiles, min(wanted, num_tiles)) * _TILE_KEYS
    num_splits = cdiv(max_blocks * block_size, split_keys)
    shape = (num_seqs, num_q_heads, num_splits)
    partial = query.new_empty((*shape, head_dim), dtype=torch.float32)
    partial_lse = query.new_empty(shape, dtype=torch.float32)
    out = torch.empty_like(query)
    lse = query.new_empty(shape[:2], dtype=torch.float32)
    group_size = num_q_heads // num_kv_heads
    split: Any = _split
    combine: Any = _combine
    split[(num_seqs, num_kv_heads, num_splits)](
        query, kv_pool, block_tables, seq_lens, partial, partial_lse, scale * _LOG2_E, max_blocks,
        *kv_pool.stride()[:4], num_splits, split_keys,
        HEAD_DIM=head_dim, GROUP_SIZE=group_size,
        ROWS=max(_MIN_ROWS, triton.next_power_of_2(group_size)),
        BLOCK_SIZE=block_size, TILE=_TILE_KEYS,
    )  # fmt: skip
    combine[(num_seqs * num_q_heads,)](
        partial, partial_lse, out, lse, num_splits, HEAD_DIM=head_dim
    )
    return out, lse
