"""One step's tokens as a model takes them: all sequences flattened into one axis."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTables:
    """Where one KV group keeps the sequences of a batch.

    Shapes: block_tables int32 [num_seqs, max_blocks]; slot_mapping int64 [num_tokens], the slot
    `block * block_size + offset` of each token, -1 for padding.
    """

    block_tables: torch.Tensor
    slot_mapping: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBatch:
    """A ragged batch: prefill, chunks of it and decode look the same.

    Shapes: tokens int32 or int64 [num_tokens]; positions int64 [num_tokens]; query_start int32
    [num_seqs + 1], first token of each sequence and the end of the last; seq_lens int32
    [num_seqs], keys of each sequence, this step's included; logit_rows int64 [num_logits], the
    tokens whose logits are wanted, None for all.
    Tokens from query_start[-1] on are padding: any token id of the vocabulary, any position of
    the table, slot -1.
    max_query_len: no sequence has more tokens in the batch.
    groups: one for each of the model's KV groups.
    """

    tokens: torch.Tensor
    positions: torch.Tensor
    query_start: torch.Tensor
    seq_lens: torch.Tensor
    max_query_len: int
    groups: tuple[GroupTables, ...]
    logit_rows: torch.Tensor | None = None
