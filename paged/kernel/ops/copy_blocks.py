"""Copying physical blocks within a KV pool, all layers at once: copy-on-write."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.spec import Operand
from paged.kernel.work import Cost, Work


def reference(kv_pool: torch.Tensor, pairs: torch.Tensor) -> None:
    """Copy blocks [source, destination].

    Pairs with a block outside of the pool are skipped: -1 pads a buffer of fixed length.
    Mutates: kv_pool. The result is undefined where destinations repeat or are sources as well.
    """
    for source, destination in pool.pairs_of(pairs):
        if 0 <= source < len(kv_pool) and 0 <= destination < len(kv_pool):
            kv_pool[destination].copy_(kv_pool[source])


def moved_bytes(binding: Binding) -> int:
    """Return the bytes of the blocks that a call copies."""
    sizes = binding.sizes
    block_elements = 2 * sizes["num_layers"] * sizes["num_kv_heads"]
    block_elements *= sizes["block_size"] * sizes["head_dim"]
    return sizes["num_pairs"] * block_elements * pool.element_bytes(binding, "kv_t")


def _work(binding: Binding) -> Work:
    pairs_bytes = 16 * binding.sizes["num_pairs"]
    return Work.of({"kv_pool": 2 * moved_bytes(binding), "pairs": pairs_bytes})


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
    cost=Cost(work=_work, text="each block read and written once"),
    reference=reference,
    choose=pool.choose_vector,
)
