"""Copying physical blocks within a KV pool, all layers at once: copy-on-write."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.spec import Cost, Operand, Work


def reference(kv_pool: torch.Tensor, pairs: torch.Tensor) -> None:
    """Copy blocks [source, destination].

    Pairs with a block outside of the pool are skipped: -1 pads a buffer of fixed length.
    Mutates: kv_pool. The result is undefined where destinations repeat or are sources as well.
    """
    for source, destination in pool.pairs_of(pairs):
        if 0 <= source < len(kv_pool) and 0 <= destination < len(kv_pool):
            kv_pool[destination].copy_(kv_pool[source])


def block_work(binding: Binding) -> Work:
    """Return the least work of copying blocks: each read and written once."""
    sizes = binding.sizes
    block_elements = 2 * sizes["num_layers"] * sizes["num_kv_heads"]
    block_elements *= sizes["block_size"] * sizes["head_dim"]
    block_bytes = block_elements * pool.element_bytes(binding, "kv_t")
    return Work(bytes=sizes["num_pairs"] * (2 * block_bytes + 16), flops=0)


OP = Op(
    name="copy_blocks",
    folder="cache",
    summary="Copy blocks within a pool, all layers at once",
    operands=(
        pool.pool_operand("inout"),
        Operand(name="pairs", shape="num_pairs 2", dtype="int64"),
    ),
    types={"kv_t": pool.POOL_TYPES},
    requires=("block_size > 0",),
    cost=Cost(work=block_work, text="each block read and written once"),
    reference=reference,
    choose=pool.choose_vector,
)
