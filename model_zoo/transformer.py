"""The forward pass: parameters, the KV pools and a ragged batch in, logits out."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from model_zoo.batch import ModelBatch
from model_zoo.config import LayerPlace, ModelConfig
from model_zoo.params import LayerParams, ModelParams
from paged.kernel import op_call
from paged.kernel.functional import add_rms_norm, embedding, linear, rms_norm, silu_mul


def forward(
    params: ModelParams, config: ModelConfig, kv: Sequence[torch.Tensor], batch: ModelBatch
) -> torch.Tensor:
    """Compute the logits of a batch, and write its keys and values to their slots.

    Shapes: kv, one pool for each of `config.kv_groups`, [num_blocks, num_layers of the group, 2,
    num_kv_heads, block_size, head_dim]; returns float32 [num_logits, vocab_size], a row for each
    of batch.logit_rows, or for each token.
    Activations have the dtype of the norms. Blocks must be copied and swapped before.
    Mutates: kv.
    Raises: OperandError, all that kernels raise.
    """
    hidden = embedding(batch.tokens, params.embedding, params.final_norm.dtype)
    residual: torch.Tensor | None = None
    for layer, place in zip(params.layers, config.places, strict=True):
        normed, residual = _norm(hidden, residual, layer.attention_norm, config.norm_eps)
        query, key, value = _heads(layer, config, normed)
        attended = _attend(params.cos_sin, kv[place.group], place, (query, key, value), batch)
        if layer is params.layers[-1] and batch.logit_rows is not None:
            # past the last attention a token needs nothing of the others
            attended, residual = attended[batch.logit_rows], residual[batch.logit_rows]
        hidden = linear(attended, layer.o)
        normed, residual = _norm(hidden, residual, layer.mlp_norm, config.norm_eps)
        hidden = linear(silu_mul(linear(normed, layer.gate_up)), layer.down)
    normed, _ = _norm(hidden, residual, params.final_norm, config.norm_eps)
    return linear(normed, params.lm_head).float()


def _norm(
    hidden: torch.Tensor, residual: torch.Tensor | None, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the normed sum of both, and the sum."""
    if residual is None:
        return rms_norm(hidden, weight, eps), hidden
    return add_rms_norm(hidden, residual, weight, eps)


def _heads(
    layer: LayerParams, config: ModelConfig, normed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return queries, keys and values, [num_tokens, heads, head_dim] each, not yet turned."""
    num_heads, num_kv_heads = config.num_heads, config.num_kv_heads
    fused = linear(normed, layer.qkv).view(-1, num_heads + 2 * num_kv_heads, config.head_dim)
    query, key, value = fused.split_with_sizes((num_heads, num_kv_heads, num_kv_heads), dim=1)
    if layer.q_norm is not None and layer.k_norm is not None:
        query = rms_norm(query.contiguous(), layer.q_norm, config.norm_eps)
        key = rms_norm(key.contiguous(), layer.k_norm, config.norm_eps)
    return query, key, value


def _attend(
    cos_sin: torch.Tensor,
    pool: torch.Tensor,
    place: LayerPlace,
    heads: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    batch: ModelBatch,
) -> torch.Tensor:
    """Store keys and values; return what each token reads, [num_tokens, num_heads * head_dim]."""
    query, key, value = heads
    group = batch.groups[place.group]
    turned = op_call(
        "rope_write_kv",
        *(query, key, value, pool, group.slot_mapping, batch.positions, cos_sin),
        layer=place.index,
    )
    attended, _ = op_call(
        "attention",
        *(turned, pool, group.block_tables, batch.seq_lens, batch.query_start),
        layer=place.index,
        max_query_len=batch.max_query_len,
        scale=query.shape[2] ** -0.5,
        window=place.window,
    )
    return attended.flatten(1)
