"""A model whose K and V are one number, so a wrong block changes what it says.

The value stored for a token mixes the token with the value stored for the token before
it, read back through the block table. A block that is owned twice, copied too late, hit
wrongly or lost in a swap therefore changes every later token of the sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paged.allocator.base import BlockMoves
from paged.scheduler.batch import Batch, StepResult
from paged.scheduler.request import Request

POISON = -1
_MODULUS = (1 << 31) - 1
_START = 17


def next_value(before: int, token: int) -> int:
    """Value stored for a token that follows the value `before`."""
    return (before * 48_271 + token * 7_919 + 1) % _MODULUS


def values_of(tokens: Sequence[int]) -> list[int]:
    """Values that a sequence of tokens must have stored, one each."""
    values: list[int] = []
    before = _START
    for token in tokens:
        before = next_value(before, int(token))
        values.append(before)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What is drawn after a stored value.

    num_kinds: different tokens. stop_every: about one in so many ends its sequence.
    """

    num_kinds: int = 3
    stop_every: int | None = 29

    def draw(self, value: int, sequence_index: int) -> tuple[int, bool]:
        """Token drawn after a stored value, and whether it ends the sequence."""
        mixed = (value * 69_621 + sequence_index * 40_014) % _MODULUS
        is_stopped = self.stop_every is not None and (mixed >> 12) % self.stop_every == 0
        return (mixed >> 4) % self.num_kinds, is_stopped

    def generate(
        self, request: Request, sequence_index: int, max_model_len: int
    ) -> tuple[list[int], bool]:
        """Tokens of a sequence that nothing disturbs, and whether it ends by itself."""
        tokens = [int(token) for token in request.prompt_tokens]
        limit = min(len(tokens) + request.max_new_tokens, max_model_len)
        while True:
            token, is_stopped = self.draw(values_of(tokens)[-1], sequence_index)
            tokens.append(token)
            if is_stopped or len(tokens) >= limit:
                return tokens, is_stopped


class ToyPool:
    """Device and host blocks, holding one value for each slot."""

    def __init__(self, *, num_blocks: int, block_size: int, num_host_blocks: int = 0) -> None:
        self.block_size = block_size
        self.device = np.full((num_blocks, block_size), POISON, np.int64)
        self.host = np.full((num_host_blocks, block_size), POISON, np.int64)

    def move(self, *, swap_out: BlockMoves, swap_in: BlockMoves, copies: BlockMoves) -> None:
        """Make the moves of one step, in the order that executors promise."""
        assert not set(copies.src.tolist()) & set(copies.dst.tolist()), "copies depend on order"
        _move(self.device, self.host, swap_out)
        _move(self.host, self.device, swap_in)
        _move(self.device, self.device, copies)

    def read(self, ids: np.ndarray, num_tokens: int) -> list[int]:
        """Values of the first num_tokens slots of a block table row."""
        num_blocks = -(-num_tokens // self.block_size)
        return self.device[ids[:num_blocks]].ravel()[:num_tokens].tolist()

    def last_value(self, ids: np.ndarray, num_tokens: int) -> int:
        """Value that the next token is mixed with."""
        if not num_tokens:
            return _START
        column, offset = divmod(num_tokens - 1, self.block_size)
        return int(self.device[ids[column], offset])

    def write(self, ids: np.ndarray, first: int, tokens: Sequence[int], before: int) -> None:
        """Compute and store the values of tokens at positions first, first + 1, ..."""
        for position, token in enumerate(tokens, start=first):
            before = next_value(before, int(token))
            self.device[ids[position // self.block_size], position % self.block_size] = before


def _move(src: np.ndarray, dst: np.ndarray, moves: BlockMoves) -> None:
    assert len(moves.src) == len(moves.dst)
    assert len(set(moves.dst.tolist())) == len(moves.dst), "two copies into one block"
    dst[moves.dst] = src[moves.src]


class ToyExecutor:
    """Runs batches on a ToyPool and draws what the stored values say.

    is_broken: fail, and leave garbage wherever the step was to write.
    """

    def __init__(self, pool: ToyPool, language: Language) -> None:
        self.pool = pool
        self.language = language
        self._sequence_of: dict[int, int] = {}
        self._group_of: dict[int, list[int]] = {}
        self.is_broken = False

    def execute(self, batch: Batch) -> StepResult:
        """Move blocks, store the scheduled tokens, draw from what is stored."""
        if self.is_broken:
            self._spoil(batch)
            raise ArithmeticError("broken")
        for admitted in batch.admitted:
            rows = admitted.rows.tolist()
            self._sequence_of.update(zip(rows, admitted.sequence_indices, strict=True))
            self._group_of[rows[0]] = rows
        self.pool.move(swap_out=batch.swap_out, swap_in=batch.swap_in, copies=batch.copies)
        self._store(batch)
        drawn: list[tuple[int, bool]] = []
        for row, end, count in zip(
            batch.rows.tolist(), batch.seq_lens.tolist(), batch.num_samples.tolist(), strict=True
        ):
            value = self.pool.read(batch.tables.ids[row], end)[-1]
            rows = self._group_of[row] if count > 1 else [row][:count]
            drawn += [self.language.draw(value, self._sequence_of[each]) for each in rows]
        return StepResult(
            tokens=np.array([token for token, _ in drawn], np.int32),
            is_stopped=np.array([is_stopped for _, is_stopped in drawn], np.bool_),
            duration_s=1.0,
        )

    def _spoil(self, batch: Batch) -> None:
        self.pool.host[batch.swap_out.dst] = POISON
        self.pool.device[batch.swap_in.dst] = POISON
        self.pool.device[batch.copies.dst] = POISON
        self.pool.device.reshape(-1)[batch.flatten().slot_mapping] = POISON

    def _store(self, batch: Batch) -> None:
        flat = batch.flatten()
        slots = flat.slot_mapping.tolist()
        assert len(set(slots)) == len(slots), "two tokens of one step in one slot"
        starts, firsts = batch.query_start.tolist(), batch.num_computed.tolist()
        tables = batch.tables.ids[batch.rows]
        # All reads come first: no sequence may need what another computes in this step.
        before = [self.pool.last_value(*one) for one in zip(tables, firsts, strict=True)]
        for i, (ids, first) in enumerate(zip(tables, firsts, strict=True)):
            part = slice(starts[i], starts[i + 1])
            tokens = flat.tokens[part].tolist()
            assert flat.positions[part].tolist() == list(range(first, first + len(tokens)))
            self.pool.write(ids, first, tokens, before[i])
