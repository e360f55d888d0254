"""Rotary embedding of queries and keys, fused with writing keys and values into the pool."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.spec import Operand, Scalar
from paged.kernel.work import Cost, Work


def rotate(
    x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor, *, interleaved: bool
) -> torch.Tensor:
    """Return heads [num_tokens, num_heads, head_dim] turned to their positions, in float64.

    Pairs are (i, i + rotary_dim/2), or (2i, 2i + 1) where interleaved; elements past rotary_dim
    stay. Rows whose position is outside of the table are zeros.
    """
    rotary_dim = cos_sin.shape[1]
    known = _is_known(positions, cos_sin)
    padded = torch.cat([cos_sin, cos_sin.new_zeros((1, rotary_dim))])
    angles = padded[torch.where(known, positions, -1)]
    cos, sin = angles.double()[:, None].chunk(2, dim=-1)
    result = x.double().clone()
    turned = result[..., :rotary_dim]
    if interleaved:
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., : rotary_dim // 2], turned[..., rotary_dim // 2 :]
    first_turned = first * cos - second * sin
    second_turned = second * cos + first * sin
    first.copy_(first_turned)
    second.copy_(second_turned)
    return torch.where(known[:, None, None], result, 0.0)


def _is_known(positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    return (positions >= 0) & (positions < len(cos_sin))


def reference(  # noqa: PLR0917 (the operator's own arguments)
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    kv_pool: torch.Tensor,
    slot_mapping: torch.Tensor,
    positions: torch.Tensor,
    cos_sin: torch.Tensor,
    kv_scales: torch.Tensor | None = None,
    *,
    layer: int,
    interleaved: bool = False,
) -> torch.Tensor:
    """Rotate queries and keys, and write keys and values to their slots.

    Shapes: query [num_tokens, num_q_heads, head_dim]; key, value [num_tokens, num_kv_heads,
    head_dim]; positions [num_tokens]; cos_sin [max_positions, rotary_dim], the cosines of all
    pairs before their sines; the rest as in `write_kv`. A token whose position is outside of the
    table gets a query of zeros and is not written: padding.
    Everything is computed in float32 or better and rounded once.
    Mutates: kv_pool. Returns: the rotated queries, in float64.
    """
    slots = torch.where(_is_known(positions, cos_sin), slot_mapping[: len(positions)], -1)
    keys = rotate(key, positions, cos_sin, interleaved=interleaved)
    pool.store_rows(kv_pool, (keys, value), slots, kv_scales, layer)
    return rotate(query, positions, cos_sin, interleaved=interleaved)


def _work(binding: Binding) -> Work:
    sizes = binding.sizes
    key_bytes, kv_bytes = (pool.element_bytes(binding, name) for name in ("key_t", "kv_t"))
    num_query_elements, num_key_elements = (
        sizes["num_tokens"] * sizes[heads] * sizes["head_dim"]
        for heads in ("num_q_heads", "num_kv_heads")
    )
    num_turned = (sizes["num_q_heads"] + sizes["num_kv_heads"]) * sizes["rotary_dim"]
    return Work.of(
        {
            "query": num_query_elements * key_bytes,
            "key": num_key_elements * key_bytes,
            "value": num_key_elements * key_bytes,
            "kv_pool": 2 * num_key_elements * kv_bytes,
            "slot_mapping": 8 * sizes["num_tokens"],
            "positions": 8 * sizes["num_tokens"],
            "cos_sin": 4 * sizes["num_tokens"] * sizes["rotary_dim"],
            "out": num_query_elements * key_bytes,
        },
        flops=3 * sizes["num_tokens"] * num_turned,
    )


OP = Op(
    name="rope_write_kv",
    folder="cache",
    summary="Rotate queries and keys, and write keys and values into their slots",
    operands=(
        Operand(name="query", shape="num_tokens num_q_heads head_dim", dtype="key_t", strided=True),
        Operand(name="key", shape="num_tokens num_kv_heads head_dim", dtype="key_t", strided=True),
        Operand(
            name="value", shape="num_tokens num_kv_heads head_dim", dtype="key_t", strided=True
        ),
        pool.pool_operand("inout"),
        Operand(name="slot_mapping", shape="num_slots", dtype="int64"),
        Operand(name="positions", shape="num_tokens", dtype="int64"),
        Operand(name="cos_sin", shape="max_positions rotary_dim", dtype="float32"),
        pool.KV_SCALES,
        Operand(name="out", shape="num_tokens num_q_heads head_dim", dtype="key_t", intent="out"),
    ),
    scalars=(
        Scalar(name="layer", dtype="int32"),
        Scalar(name="interleaved", dtype="bool", default=False),
    ),
    types={"key_t": pool.KEY_TYPES, "kv_t": pool.POOL_TYPES},
    requires=(
        "num_slots >= num_tokens",
        "block_size > 0",
        "0 <= layer < num_layers",
        "rotary_dim <= head_dim",
        "rotary_dim % 2 == 0",
    ),
    cost=Cost(
        work=_work,
        text="queries, keys and values read and stored once; slots, positions and angles read",
    ),
    reference=reference,
    choose=pool.choose_vector,
)
