"""Torch's own indexing in place of the operations on the KV pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from paged.kernel.measure.candidate import Call, Unserved
from paged.kernel.problem import Problem, Tensors


def _tensors(problem: Problem, num_required: int) -> list[torch.Tensor]:
    """Return the required operands. Raises Unserved where there are KV scales."""
    required, optional = problem.operands[:num_required], problem.operands[num_required:]
    if any(t is not None for t in optional):
        raise Unserved("KV scales are not compared")
    return [t for t in required if t is not None]


def _store(
    kv_pool: torch.Tensor, layer: int, slots: torch.Tensor
) -> Callable[[torch.Tensor, torch.Tensor], None]:
    block_size = kv_pool.shape[4]
    index = (slots // block_size, slots % block_size)
    # [num_blocks, block_size, num_kv_heads, head_dim]
    keys, values = kv_pool[:, layer].permute(1, 0, 3, 2, 4)

    def store(key: torch.Tensor, value: torch.Tensor) -> None:
        keys.index_put_(index, key)
        values.index_put_(index, value)

    return store


def write_kv(problem: Problem) -> Call:
    """Prepare two `index_put_`."""
    key, value, kv_pool, slots = _tensors(problem, 4)
    store = _store(kv_pool, int(problem.numbers["layer"] or 0), slots)

    def call() -> Tensors:
        store(key, value)
        return (kv_pool,)

    return call


def rope_write_kv(problem: Problem) -> Call:
    """Prepare a rotation in float32 and two `index_put_`."""
    query, key, value, kv_pool, slots, positions, cos_sin = _tensors(problem, 7)
    store = _store(kv_pool, int(problem.numbers["layer"] or 0), slots)
    if problem.numbers["interleaved"] or cos_sin.shape[1] != query.shape[2]:
        raise Unserved("only rotations of whole heads by halves are compared")

    def call() -> Tensors:
        cos, sin = cos_sin[positions][:, None].chunk(2, dim=-1)

        def rotate(x: torch.Tensor) -> torch.Tensor:
            first, second = x.float().chunk(2, dim=-1)
            turned = (first * cos - second * sin, second * cos + first * sin)
            return torch.cat(turned, dim=-1).to(x.dtype)

        store(rotate(key), value)
        return rotate(query), kv_pool

    return call


def copy_blocks(problem: Problem) -> Call:
    """Prepare `index_select` and `index_copy_`."""
    kv_pool, pairs = _tensors(problem, 2)
    source, destination = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()

    def call() -> Tensors:
        kv_pool.index_copy_(0, destination, kv_pool.index_select(0, source))
        return (kv_pool,)

    return call


def swap_blocks(problem: Problem) -> Call:
    """Prepare `index_select` from one pool and `index_copy_` to the other."""
    from_pool, to_pool, pairs = _tensors(problem, 3)
    source, destination = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()

    def call() -> Tensors:
        to_pool.index_copy_(0, destination, from_pool.index_select(0, source))
        return (to_pool,)

    return call


def gather_kv(problem: Problem) -> Call:
    """Prepare indexing by block and slot."""
    kv_pool, tables, starts, _ = _tensors(problem, 4)
    block_size = kv_pool.shape[4]
    tokens = torch.arange(int(problem.numbers["num_tokens"] or 0), device=starts.device)
    rows = torch.bucketize(tokens, starts[1:], right=True)
    positions = tokens - starts[rows]
    index = (tables[rows, positions // block_size].long(), positions % block_size)
    layer = int(problem.numbers["layer"] or 0)
    keys, values = kv_pool[:, layer].permute(1, 0, 3, 2, 4)

    def call() -> Tensors:
        return keys[index], values[index]

    return call


PEERS: Mapping[str, tuple[str, Callable[[Problem], Call]]] = {
    "write_kv": ("index_put", write_kv),
    "rope_write_kv": ("torch", rope_write_kv),
    "copy_blocks": ("index_copy", copy_blocks),
    "swap_blocks": ("index_copy", swap_blocks),
    "gather_kv": ("indexing", gather_kv),
}
