"""Torch's own attention, on contiguous keys and values or on those it gathers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.nn.attention import bias
from torch.nn.attention import flex_attention as flex
from torch.nn.functional import scaled_dot_product_attention

from paged.kernel.measure.attention_batch import Batch, Group, batch_of
from paged.kernel.measure.candidate import Call
from paged.kernel.problem import Problem, Tensors

# torch leaves both untyped
_bias: Any = bias
_flex: Any = flex


def sdpa(problem: Problem) -> Call:
    """Prepare `scaled_dot_product_attention` on keys and values that lie contiguous already."""
    batch = batch_of(problem)
    gathered = [batch.gather(group).contiguous() for group in batch.groups]

    def call() -> Tensors:
        pairs = zip(batch.groups, gathered, strict=True)
        return (batch.join([_attend(batch, group, kv) for group, kv in pairs]),)

    return call


def gather_sdpa(problem: Problem) -> Call:
    """Prepare gathering the pages by `index_select`, and then the same."""
    batch = batch_of(problem)

    def call() -> Tensors:
        return (batch.join([_attend(batch, g, batch.gather(g)) for g in batch.groups]),)

    return call


def _attend(batch: Batch, group: Group, kv: torch.Tensor) -> torch.Tensor:
    mask: Any = None
    if 1 < group.query_len < group.seq_len:
        mask = _bias.causal_lower_right(group.query_len, group.seq_len)
    return scaled_dot_product_attention(
        batch.queries(group),
        kv[0],
        kv[1],
        attn_mask=mask,
        is_causal=1 < group.query_len == group.seq_len,
        scale=batch.scale,
        enable_gqa=batch.group_size > 1,
    )


def flex_attention(problem: Problem) -> Call:
    """Prepare compiled `flex_attention` on contiguous keys and values."""
    batch = batch_of(problem)
    gathered = [batch.gather(group).contiguous() for group in batch.groups]
    masks = [
        _flex.create_block_mask(
            _causal(group), None, None, group.query_len, group.seq_len, device=batch.query.device
        )
        for group in batch.groups
    ]

    def call() -> Tensors:
        outputs = [
            _compiled_flex()(
                batch.queries(group),
                kv[0],
                kv[1],
                block_mask=mask,
                scale=batch.scale,
                enable_gqa=batch.group_size > 1,
            )
            for group, kv, mask in zip(batch.groups, gathered, masks, strict=True)
        ]
        return (batch.join(outputs),)

    return call


@lru_cache(maxsize=1)
def _compiled_flex() -> Any:
    compiler: Any = torch
    return compiler.compile(_flex.flex_attention, dynamic=False)


def _causal(group: Group) -> Any:
    first = group.seq_len - group.query_len

    def is_visible(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
        return key <= query + first

    return is_visible
