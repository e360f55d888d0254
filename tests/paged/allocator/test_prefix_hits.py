"""What a look-up finds, beside a record of what sequences have computed."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from paged.allocator.base import Demand
from paged.allocator.paged import PagedAllocator
from paged.allocator.prefix_chain import STEPS_PER_PASS
from paged.config import CacheConfig

MAX_MODEL_LEN = 24
MAX_ROWS = 4
# Many beginnings and few ways to go on: sequences that begin like no other, and some that do.
PROMPTS = st.builds(
    lambda first, rest: [first, *rest],
    st.integers(0, 9),
    st.lists(st.integers(0, 1), max_size=9),
)
NUM_NEW = st.lists(st.integers(0, 5), min_size=MAX_ROWS, max_size=MAX_ROWS)


class HitMachine(RuleBasedStateMachine):
    """Sequences in a pool that never has to evict.

    known: tokens of each live row, computed or not. prompts: rows whose prompt is not
    computed as a whole, and its length. seen: tokens of each row that a look-up can find.
    ended: leading full blocks of all sequences that ended, joined from the first one on.
    past: all tokens of those sequences.
    """

    @initialize(block_size=st.integers(1, 3))
    def start(self, block_size: int) -> None:
        config = CacheConfig(
            num_blocks=2000,
            block_size=block_size,
            max_model_len=MAX_MODEL_LEN,
            enable_prefix_caching=True,
        )
        self.size = block_size
        self.allocator = PagedAllocator(config, max_rows=MAX_ROWS)
        self.tokens = np.zeros((MAX_ROWS, MAX_MODEL_LEN), np.int32)
        self.known: dict[int, list[int]] = {}
        self.prompts: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.ended: set[tuple[int, ...]] = set()
        self.past: list[list[int]] = []
        self.num_commits = 0

    def demand(self, tokens: list[int], *, has_keys: bool = True) -> Demand:
        prompt = np.array(tokens, np.int32)
        return Demand(
            num_tokens=len(tokens),
            max_tokens=MAX_MODEL_LEN,
            tokens=prompt,
            prefix_keys=self.allocator.prefix_keys(prompt) if has_keys else None,
        )

    @precondition(lambda self: len(self.known) < MAX_ROWS)
    @rule(prompt=PROMPTS, has_keys=st.booleans())
    def admit(self, prompt: list[int], has_keys: bool) -> None:
        expected = min(self.num_found(prompt), len(prompt) - 1)
        admission = self.allocator.admit(self.demand(prompt, has_keys=has_keys))
        assert admission is not None
        assert admission.num_cached_tokens == expected
        row = admission.rows.item(0)
        self.known[row], self.prompts[row], self.seen[row] = prompt, len(prompt), 0

    @rule(num_new=NUM_NEW, asked=PROMPTS, aborted=st.none() | st.integers(0, 3))
    def step(self, num_new: list[int], asked: list[int], aborted: int | None) -> None:
        """Compute num_new further tokens of each row; somebody asks, or ends one, meanwhile."""
        lengths = self._grow(num_new)
        self.look_up(asked)
        if aborted in lengths:
            self._end([aborted])
            del lengths[aborted]
        for row, end in lengths.items():
            self.tokens[row, :end] = self.known[row][:end]
        self.allocator.commit(np.array(list(lengths), np.int64), self.tokens)
        self.num_commits += 1
        for row, num_prompt_tokens in list(self.prompts.items()):
            self.seen[row] = self.allocator.tables.num_tokens.item(row)
            if self.seen[row] >= num_prompt_tokens:
                del self.prompts[row]
        if self.num_commits % STEPS_PER_PASS == 0:
            self.seen.update(lengths)

    def _grow(self, num_new: list[int]) -> dict[int, int]:
        """Plan up to num_new[row] tokens of each row; returns what each will have."""
        lengths: dict[int, int] = {}
        for row, known in self.known.items():
            start = self.allocator.tables.num_tokens.item(row)
            end = min(start + num_new[row], MAX_MODEL_LEN)
            # What a sequence decodes follows from what it has, as with a greedy model.
            while len(known) < end:
                known.append((sum(known) + len(known) // 2) % 2)
            if end > start:
                lengths[row] = end
        rows, ends = np.array(list(lengths), np.int64), np.array(list(lengths.values()), np.int64)
        self.allocator.grow(rows, ends)
        return lengths

    @rule()
    def decode(self) -> None:
        """Run as many steps as there are from one pass over all rows to the next."""
        for _ in range(STEPS_PER_PASS):
            self.step([1] * MAX_ROWS, [0], None)

    @rule(num_new=NUM_NEW)
    def fail(self, num_new: list[int]) -> None:
        """Let a step fail: its rows end."""
        lengths = self._grow(num_new)
        self.allocator.abandon()
        self._end(list(lengths))

    @rule(rows=st.lists(st.integers(0, MAX_ROWS - 1), max_size=2, unique=True))
    def release(self, rows: list[int]) -> None:
        for row in set(rows) & self.known.keys():
            self.seen[row] = self.allocator.tables.num_tokens.item(row)
        self._end(rows)

    def _end(self, rows: list[int]) -> None:
        for row in set(rows) & self.known.keys():
            self.ended |= self._blocks_of(row)
            self.past.append(self.known[row])
            del self.known[row], self.seen[row]
            self.prompts.pop(row, None)
        self.allocator.release(np.array(rows, np.int64))
        # The row goes to others.
        self.tokens[rows] = -1

    @rule(tokens=PROMPTS)
    def look_up(self, tokens: list[int]) -> None:
        found = self.allocator.intake.match(self.demand(tokens))
        assert len(found) * self.size == self.num_found(tokens)
        self.allocator.check_integrity()

    def num_found(self, tokens: list[int]) -> int:
        """How many leading tokens a look-up is to find."""
        known = self.ended.union(*map(self._blocks_of, self.known))
        return len(_longest(tokens, known))

    def _blocks_of(self, row: int) -> set[tuple[int, ...]]:
        ends = range(self.size, self.seen[row] + 1, self.size)
        return {tuple(self.known[row][:end]) for end in ends}

    def teardown(self) -> None:
        if not hasattr(self, "allocator"):
            return
        self.release(list(range(MAX_ROWS)))
        for tokens in self.past:
            self.look_up(tokens)


def _longest(tokens: list[int], known: set[tuple[int, ...]]) -> tuple[int, ...]:
    prefixes = (tuple(tokens[:end]) for end in range(len(tokens), 0, -1))
    return next((prefix for prefix in prefixes if prefix in known), ())


def test_a_look_up_finds_all_that_was_computed_and_nothing_else() -> None:
    plan = settings.get_profile(settings.get_current_profile_name())
    run_state_machine_as_test(HitMachine, settings=settings(plan, stateful_step_count=40))
