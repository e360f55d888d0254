"""Copying physical blocks between two KV pools: a GPU's and one in host memory."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.ops.copy_blocks import moved_bytes
from paged.kernel.spec import Operand
from paged.kernel.work import Cost, Work


def reference(source: torch.Tensor, destination: torch.Tensor, pairs: torch.Tensor) -> None:
    """Copy blocks [block of source, block of destination], all layers.

    The pools lie on one device; `paged.kernel.swap.swap_blocks` copies between a GPU and pinned
    host memory. They may differ in strides and in their number of blocks. Pairs with a block
    outside of its pool are skipped: -1 pads a buffer of fixed length.
    Mutates: destination. The result is undefined where its blocks repeat.
    """
    for from_block, to_block in pool.pairs_of(pairs):
        if 0 <= from_block < len(source) and 0 <= to_block < len(destination):
            destination[to_block].copy_(source[from_block])


def _work(binding: Binding) -> Work:
    block_bytes = moved_bytes(binding)
    pairs_bytes = 16 * binding.sizes["num_pairs"]
    return Work.of({"source": block_bytes, "destination": block_bytes, "pairs": pairs_bytes})


_BLOCK = pool.POOL_SHAPE.removeprefix("num_blocks ")

OP = Op(
    name="swap_blocks",
    folder="cache",
    summary="Copy blocks from one pool to another, all layers at once",
    operands=(
        Operand(name="source", shape=f"num_source_blocks {_BLOCK}", dtype="kv_t", strided=True),
        Operand(
            name="destination",
            shape=f"num_destination_blocks {_BLOCK}",
            dtype="kv_t",
            intent="inout",
            strided=True,
        ),
        Operand(name="pairs", shape="num_pairs 2", dtype="int64"),
    ),
    types={"kv_t": pool.POOL_TYPES},
    requires=("block_size > 0",),
    cost=Cost(work=_work, text="each block read and written once"),
    reference=reference,
    choose=pool.choose_vector,
    device_hint="paged.kernel.swap.swap_blocks copies between a GPU and pinned host memory",
)
