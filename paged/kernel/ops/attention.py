"""Attention of a ragged batch over the paged KV pool: the op, its reference and its least work.

One signature serves decode, prefill and everything between. Token `i` of a sequence with `L` keys
and `Q` query tokens stands at position `L - Q + i` and sees, in a window of `W` keys:

    position:   0 .......... L-Q ........ L-Q+i ........ L-1
    keys seen:         [max(0, p+1-W) .. p]  for p = L-Q+i
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from paged.kernel.binding import INT32_MAX, Binding
from paged.kernel.op import Op
from paged.kernel.ops.pool import KEY_TYPES, KV_SCALES, POOL_TYPES, integers, pool_operand
from paged.kernel.spec import Operand, Scalar
from paged.kernel.work import Cost, Work

_OPERANDS = (
    Operand(name="query", shape="num_tokens num_q_heads head_dim", dtype="q_t", strided=True),
    pool_operand("in"),
    Operand(name="block_tables", shape="num_seqs max_blocks", dtype="int32"),
    Operand(name="seq_lens", shape="num_seqs", dtype="int32"),
    Operand(name="query_start", shape="num_seqs+1", dtype="int32"),
    Operand(name="alibi_slopes", shape="num_q_heads", dtype="float32", is_optional=True),
    Operand(name="sinks", shape="num_q_heads", dtype="float32", is_optional=True),
    KV_SCALES,
    Operand(name="out", shape="num_tokens num_q_heads head_dim", dtype="q_t", intent="out"),
    Operand(name="lse", shape="num_tokens num_q_heads", dtype="float32", intent="out"),
)

_SCALARS = (
    Scalar(name="layer", dtype="int32"),
    Scalar(name="max_query_len", dtype="int32"),
    Scalar(name="scale", dtype="float32"),
    Scalar(name="window", dtype="int32", absent=INT32_MAX),
    Scalar(name="softcap", dtype="float32", absent=0.0, above=0.0),
)


def reference(  # noqa: PLR0917 (the operator's own arguments)
    query: torch.Tensor,
    kv_pool: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    query_start: torch.Tensor,
    alibi_slopes: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    kv_scales: torch.Tensor | None = None,
    *,
    layer: int,
    max_query_len: int,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    compute_dtype: torch.dtype = torch.float64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute attention one sequence at a time, in torch.

    Shapes: query [num_tokens, num_q_heads, head_dim]; kv_pool [num_blocks, num_layers, 2,
    num_kv_heads, block_size, head_dim], keys at index 0 of its third axis, values at 1;
    block_tables [num_seqs, max_blocks]; kv_scales [num_layers, 2, num_kv_heads], stored value
    times scale is the real one. Tokens before query_start[0] and from query_start[num_seqs] on
    belong to no sequence; where query_start reaches past num_tokens, the tokens beyond are left
    out and the others keep their positions. softcap is above 0, or None.
    With `compute_dtype` all arithmetic is done in another dtype, to learn how much that loses.

    Returns: out like query, and the natural logarithm of the softmax's denominator
    [num_tokens, num_q_heads], both in compute_dtype. Without visible keys out is 0 and lse -inf,
    or the sink. A sink of infinity leaves out 0 and lse infinite.
    """
    del max_query_len  # a hint for kernels
    rows = _Rows(
        scale=scale,
        window=window,
        softcap=softcap,
        slopes=None if alibi_slopes is None else alibi_slopes.to(compute_dtype),
        sinks=None if sinks is None else sinks.to(compute_dtype),
    )
    pool = kv_pool[:, layer]
    scales = None if kv_scales is None else kv_scales[layer].to(compute_dtype)
    out = torch.zeros(query.shape, dtype=compute_dtype, device=query.device)
    lse = torch.full(query.shape[:2], -torch.inf, dtype=compute_dtype, device=query.device)
    capacity = block_tables.shape[1] * pool.shape[3]
    for table, (seq_len, begin, end) in zip(
        block_tables, _spans(seq_lens, query_start, len(query)), strict=True
    ):
        if begin == end:
            continue
        positions = torch.arange(seq_len - end + begin, seq_len, device=query.device)
        first = 0 if window is None else max(0, seq_len - end + begin + 1 - window)
        keys = torch.arange(first, max(first, min(seq_len, capacity)), device=query.device)
        kv = _gather(pool, table, keys, scales, compute_dtype)
        out[begin:end], lse[begin:end] = rows.attend(
            query[begin:end].to(compute_dtype), kv, positions, keys
        )
    return out, lse


def _spans(
    seq_lens: torch.Tensor, query_start: torch.Tensor, num_tokens: int
) -> list[tuple[int, int, int]]:
    """Return each sequence's number of keys and the half-open range of its tokens.

    Tokens that the batch lacks are left out, and the keys that only they would see.
    """
    bounds = integers(query_start)
    starts = [min(bound, num_tokens) for bound in bounds]
    lengths = [
        length - end + last
        for length, end, last in zip(integers(seq_lens), bounds[1:], starts[1:], strict=True)
    ]
    return list(zip(lengths, starts[:-1], starts[1:], strict=True))


def _gather(
    pool: torch.Tensor,
    table: torch.Tensor,
    keys: torch.Tensor,
    scales: torch.Tensor | None,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return keys and values of some slots, [2, num_kv_heads, num_keys, head_dim]."""
    block_size = pool.shape[3]
    first = int(keys[0]) // block_size if len(keys) else 0
    last = int(keys[-1]) // block_size + 1 if len(keys) else 0
    # careful: by block and not by slot, for torch indexes no fp8 tensors, and only blocks with
    # visible keys, for other entries of the table are undefined
    blocks = [pool[int(block)].to(dtype) for block in table[first:last]]
    if not blocks:
        return pool.new_zeros((2, pool.shape[2], 0, pool.shape[4]), dtype=dtype)
    kv = torch.cat(blocks, dim=2)[:, :, keys - first * block_size]
    return kv if scales is None else kv * scales[:, :, None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """What all rows of a call share."""

    scale: float
    window: int | None
    softcap: float | None
    slopes: torch.Tensor | None
    sinks: torch.Tensor | None

    def attend(
        self, query: torch.Tensor, kv: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return out [num_rows, num_q_heads, head_dim] and lse of one sequence."""
        num_rows, num_q_heads, head_dim = query.shape
        num_kv_heads = kv.shape[1]
        group_size = num_q_heads // num_kv_heads
        grouped = query.view(num_rows, num_kv_heads, group_size, head_dim)
        scores = torch.einsum("rhgd,hkd->rhgk", grouped, kv[0]) * self.scale
        scores = scores.reshape(num_rows, num_q_heads, len(keys))
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        distance = (keys[None, :] - positions[:, None])[:, None, :]
        if self.slopes is not None:
            scores = scores + self.slopes[None, :, None] * distance
        visible = distance <= 0
        if self.window is not None:
            visible = visible & (distance > -self.window)
        scores = scores.masked_fill(~visible, -torch.inf)
        sinks = query.new_full((num_q_heads,), -torch.inf) if self.sinks is None else self.sinks
        logits = torch.cat([scores, sinks[None, :, None].expand(num_rows, -1, 1)], dim=-1)
        lse = torch.logsumexp(logits, dim=-1)
        # careful: a row that sees nothing would weigh exp(-inf + inf)
        weights = torch.exp(scores - torch.where(lse == -torch.inf, 0.0, lse)[:, :, None])
        weights = weights.view(num_rows, num_kv_heads, group_size, len(keys))
        out = torch.einsum("rhgk,hkd->rhgd", weights, kv[1])
        return out.reshape(query.shape), lse


def least_work(binding: Binding) -> Work:
    """Return the least work of a call: visible keys read once, queries and outputs moved once."""
    query, kv_pool, _, seq_lens, query_start = (
        tensor for tensor in list(binding.tensors.values())[:5] if tensor is not None
    )
    num_q_heads, head_dim = query.shape[1:]
    window = int(binding.scalars["window"])
    num_keys, num_pairs = 0, 0
    for seq_len, begin, end in _spans(seq_lens, query_start, len(query)):
        positions = range(max(0, seq_len - end + begin), seq_len)
        if len(positions) > 0:
            num_keys += seq_len - max(0, positions[0] + 1 - window)
        num_pairs += sum(min(position + 1, window) for position in positions)
    row_bytes = 2 * kv_pool.shape[3] * head_dim * kv_pool.element_size()
    query_bytes = query.numel() * query.element_size()
    operands = {
        "query": query_bytes,
        "kv_pool": num_keys * row_bytes,
        "out": query_bytes,
        "lse": 4 * query.shape[0] * num_q_heads,
    }
    return Work.of(operands, flops=4 * num_pairs * num_q_heads * head_dim)


def visible_slots(binding: Binding) -> dict[str, torch.Tensor]:
    """Return the slots of the pool that some query sees: of shape [.., block_size, 1], bool."""
    query, kv_pool, tables, seq_lens, query_start = (
        tensor for tensor in list(binding.tensors.values())[:5] if tensor is not None
    )
    num_blocks, num_layers, block_size = (kv_pool.shape[axis] for axis in (0, 1, 4))
    window = int(binding.scalars["window"])
    seen = torch.zeros((num_blocks, num_layers, 1, 1, block_size, 1), dtype=torch.bool)
    spans = _spans(seq_lens, query_start, len(query))
    for table, (seq_len, begin, end) in zip(tables, spans, strict=True):
        first = max(0, seq_len - end + begin + 1 - window) if begin < end else seq_len
        for key in range(first, min(seq_len, len(table) * block_size)):
            block = int(table[key // block_size])
            if 0 <= block < num_blocks:
                seen[block, int(binding.scalars["layer"]), :, :, key % block_size] = True
    return {"kv_pool": seen}


def choose(binding: Binding) -> str:
    """Return the variant for a call on a GPU.

    One query a sequence: keys are split among blocks. More: queries share loaded keys, on tensor
    cores where types allow. Only v0, v1, v1g and v2 take every head_dim.
    """
    if binding.scalars["max_query_len"] == 1:
        return "v2"
    head_dim = binding.sizes["head_dim"]
    if head_dim % 8 != 0 or head_dim > 256:
        return "v1g"
    has_fragments = binding.types["q_t"] != "float32" and head_dim % 16 == 0
    return "prefill_tiled" if has_fragments else "prefill_naive"


OP = Op(
    name="attention",
    folder="attention",
    summary="Attention of a ragged batch over the paged KV pool",
    operands=_OPERANDS,
    scalars=_SCALARS,
    types={
        "q_t": KEY_TYPES,
        "kv_t": POOL_TYPES,
    },
    symbols={"group_size": "num_q_heads // num_kv_heads"},
    requires=(
        "num_q_heads % num_kv_heads == 0",
        "block_size > 0",
        "0 <= layer < num_layers",
        "window > 0",
    ),
    cost=Cost(
        work=least_work,
        text="visible keys read once, queries and outputs moved once",
        may_read=visible_slots,
    ),
    reference=reference,
    choose=choose,
)
