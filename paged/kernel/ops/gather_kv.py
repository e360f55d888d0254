"""Gathering the keys and values of sequences from the paged pool into contiguous tensors."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.spec import Operand, Scalar
from paged.kernel.work import Cost, Work


def reference(
    kv_pool: torch.Tensor,
    block_tables: torch.Tensor,
    kv_start: torch.Tensor,
    like: torch.Tensor,
    kv_scales: torch.Tensor | None = None,
    *,
    layer: int,
    num_tokens: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Read the rows of sequence `i` into [kv_start[i], kv_start[i + 1]) of two tensors.

    Shapes: block_tables [num_seqs, max_blocks]; kv_start [num_seqs + 1], ascending from 0; like:
    any length, of which only the dtype counts; num_tokens: rows to return. Rows past
    kv_start[num_seqs], past a table's end or in a block outside of the pool are zeros. Entries
    of a table past its sequence's last block are not read.
    A row is stored * scale, computed in float32 and rounded once.
    Returns: keys and values [num_tokens, num_kv_heads, head_dim] in the dtype of `like`.
    """
    num_heads, block_size, head_dim = kv_pool.shape[3:]
    rows = like.new_zeros((2, num_tokens, num_heads, head_dim))
    scale = None if kv_scales is None else kv_scales[layer, :, :, None]
    bounds = pool.integers(kv_start)
    for table, begin, end in zip(block_tables, bounds[:-1], bounds[1:], strict=True):
        blocks = pool.integers(table[: -(-(end - begin) // block_size)])
        for i in range(min(end, num_tokens) - begin):
            entry, offset = divmod(i, block_size)
            if entry < len(blocks) and 0 <= blocks[entry] < len(kv_pool):
                stored = kv_pool[blocks[entry], layer, :, :, offset]
                is_exact = scale is None and stored.dtype == like.dtype
                rows[:, begin + i] = stored if is_exact else pool.to_real(stored, scale)
    return rows[0], rows[1]


def _work(binding: Binding) -> Work:
    sizes = binding.sizes
    num_elements = sizes["num_tokens"] * sizes["num_kv_heads"] * sizes["head_dim"]
    key_bytes = num_elements * pool.element_bytes(binding, "key_t")
    kv_bytes = num_elements * pool.element_bytes(binding, "kv_t")
    return Work.of({"kv_pool": 2 * kv_bytes, "key": key_bytes, "value": key_bytes})


def _listed_slots(binding: Binding) -> dict[str, torch.Tensor]:
    """Return the slots of the pool that tables name before their sequences' ends."""
    kv_pool, tables, kv_start = (
        tensor for tensor in list(binding.tensors.values())[:3] if tensor is not None
    )
    num_blocks, num_layers, block_size = (kv_pool.shape[axis] for axis in (0, 1, 4))
    listed = torch.zeros((num_blocks, num_layers, 1, 1, block_size, 1), dtype=torch.bool)
    layer, num_tokens = int(binding.scalars["layer"]), int(binding.scalars["num_tokens"])
    bounds = pool.integers(kv_start)
    for table, begin, end in zip(tables, bounds[:-1], bounds[1:], strict=True):
        for i in range(min(min(end, num_tokens) - begin, len(table) * block_size)):
            block = int(table[i // block_size])
            if 0 <= block < num_blocks:
                listed[block, layer, :, :, i % block_size] = True
    return {"kv_pool": listed}


OP = Op(
    name="gather_kv",
    folder="cache",
    summary="Gather keys and values of sequences into contiguous tensors",
    operands=(
        pool.pool_operand("in"),
        Operand(name="block_tables", shape="num_seqs max_blocks", dtype="int32"),
        Operand(name="kv_start", shape="num_seqs+1", dtype="int32"),
        Operand(name="like", shape="num_like", dtype="key_t"),
        pool.KV_SCALES,
        Operand(name="key", shape="num_tokens num_kv_heads head_dim", dtype="key_t", intent="out"),
        Operand(
            name="value", shape="num_tokens num_kv_heads head_dim", dtype="key_t", intent="out"
        ),
    ),
    scalars=(
        Scalar(name="layer", dtype="int32"),
        Scalar(name="num_tokens", dtype="int32"),
    ),
    types={"key_t": pool.KEY_TYPES, "kv_t": pool.POOL_TYPES},
    requires=("block_size > 0", "0 <= layer < num_layers", "num_tokens >= 0"),
    cost=Cost(work=_work, text="every row read and written once", may_read=_listed_slots),
    reference=reference,
    choose=pool.choose_vector,
)
