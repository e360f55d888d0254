"""Sequences that a model computes step by step, in blocks scattered over their pools."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from model_zoo import transformer
from model_zoo.batch import GroupTables, ModelBatch
from model_zoo.config import ModelConfig
from model_zoo.params import ModelParams
from model_zoo.registry import find_family

_BLOCK_SIZE = 4
_NUM_SPARE_BLOCKS = 3
_POISON_BLOCK = 2_147_480_000


class RaggedRun:
    """Texts of tokens, each computed as far as steps have asked for.

    Every KV group has tables of its own, in random order; slots that nobody wrote are NaN, and
    table entries past a sequence's blocks are far out of range.
    """

    def __init__(
        self,
        params: ModelParams,
        config: ModelConfig,
        texts: Sequence[torch.Tensor],
        *,
        seed: int = 0,
        kv_dtype: torch.dtype = torch.float32,
    ) -> None:
        self.params = params
        self.config = config
        self.texts = texts
        self.num_computed = [0] * len(texts)
        self._forward = find_family(config.family).forward or transformer.forward
        self._source = torch.Generator().manual_seed(seed)
        self._tables = [self._scattered() for _ in config.kv_groups]
        self.pools = tuple(self._pool(len(group.layers), kv_dtype) for group in config.kv_groups)

    def step(
        self, counts: Sequence[int], *, num_padding: int = 0, only_last: bool = False
    ) -> list[torch.Tensor]:
        """Compute so many further tokens of each text; return their logits, text by text.

        only_last: ask for the logits of each text's last token alone.
        """
        batch, rows = self.batch(counts, num_padding=num_padding, only_last=only_last)
        logits = self._forward(self.params, self.config, self.pools, batch)
        self.num_computed = [
            done + count for done, count in zip(self.num_computed, counts, strict=True)
        ]
        return list(logits[: sum(rows)].split(rows))

    def batch(
        self, counts: Sequence[int], *, num_padding: int = 0, only_last: bool = False
    ) -> tuple[ModelBatch, list[int]]:
        """Return the batch of a step, of those texts that take part, and its rows by text."""
        spans = [(done, done + n) for done, n in zip(self.num_computed, counts, strict=True)]
        tokens = [text[a:b] for text, (a, b) in zip(self.texts, spans, strict=True)]
        padding = torch.zeros(num_padding, dtype=torch.int64)
        active = [i for i, count in enumerate(counts) if count]
        starts = torch.tensor([0, *(counts[i] for i in active)]).cumsum(0)
        batch = ModelBatch(
            tokens=torch.cat([*tokens, padding]).to(torch.int64),
            positions=torch.cat([*(torch.arange(a, b) for a, b in spans), padding]),
            query_start=starts.to(torch.int32),
            seq_lens=torch.tensor([spans[i][1] for i in active], dtype=torch.int32),
            max_query_len=max(counts),
            groups=tuple(self._group(table, spans, active, num_padding) for table in self._tables),
            logit_rows=starts[1:] - 1 if only_last else None,
        )
        return batch, [min(count, 1) for count in counts] if only_last else list(counts)

    def _group(
        self,
        table: torch.Tensor,
        spans: Sequence[tuple[int, int]],
        active: Sequence[int],
        num_padding: int,
    ) -> GroupTables:
        slots = [
            table[i, position // _BLOCK_SIZE].item() * _BLOCK_SIZE + position % _BLOCK_SIZE
            for i, (begin, end) in enumerate(spans)
            for position in range(begin, end)
        ]
        return GroupTables(
            block_tables=table[active],
            slot_mapping=torch.tensor([*slots, *[-1] * num_padding], dtype=torch.int64),
        )

    def _scattered(self) -> torch.Tensor:
        blocks_of = [-(-len(text) // _BLOCK_SIZE) for text in self.texts]
        ids = torch.randperm(sum(blocks_of) + _NUM_SPARE_BLOCKS, generator=self._source)
        table = torch.full((len(blocks_of), max(blocks_of) + 1), _POISON_BLOCK, dtype=torch.int32)
        for row, own in zip(table, ids[: sum(blocks_of)].split(blocks_of), strict=True):
            row[: len(own)] = own
        return table

    def _pool(self, num_layers: int, dtype: torch.dtype) -> torch.Tensor:
        num_blocks = sum(-(-len(text) // _BLOCK_SIZE) for text in self.texts) + _NUM_SPARE_BLOCKS
        sizes = (num_blocks, num_layers, 2, self.config.num_kv_heads, _BLOCK_SIZE)
        return torch.full((*sizes, self.config.head_dim), torch.nan, dtype=dtype)


def schedules(lengths: Sequence[int], chunk: int) -> dict[str, list[list[int]]]:
    """Return ways to compute texts of these lengths: counts of each text in each step.

    whole: one step. chunks: `chunk` tokens at most in a step, later texts first. tokens: one
    each in a step. mixed: the first text's prompt whole, while others go on one by one.
    """
    longest = max(lengths)
    ways = {"whole": [list(lengths)]}
    for name, size in (("chunks", chunk), ("tokens", 1)):
        steps = -(-longest // size)
        ways[name] = [
            [max(0, min(size, length - step * size)) for length in lengths] for step in range(steps)
        ]
    first, *others = lengths
    ways["mixed"] = [[0, *others[:-1], 1], [first, *[0] * (len(others) - 1), others[-1] - 1]]
    return ways
