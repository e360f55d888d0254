"""One-line mutants of the source that the regression tests must notice.

A mutant brings back the mistake of the report, or the nearest one that our code could
make. `test_mutants.py` applies them one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change that must make a test fail.

    test: file below tests/regressions. source: file below paged/. old occurs there once.
    """

    test: str
    source: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        test="test_full_prefix_hit.py",
        source="allocator/intake.py",
        old="min(len(hit) * self._size, demand.num_tokens - 1)",
        new="len(hit) * self._size",
    ),
    Mutant(
        test="test_resume_looks_up_again.py",
        source="scheduler/request_state.py",
        old="            return self.saved[0]\n",
        new="            return np.asarray(self.request.prompt_tokens, np.int32)\n",
    ),
    Mutant(
        test="test_equal_prompts_in_one_step.py",
        source="allocator/intake.py",
        old="        return Admission(rows=rows, num_cached_tokens=num_cached, copies=copies)\n",
        new="        if self._chains and demand.tokens is not None and not num_cached:\n"
        "            self._tables.num_tokens[lead] = demand.num_tokens\n"
        "            self._chains.register(rows[:1] * 0 + lead, np.tile(demand.tokens, (9, 1)))\n"
        "            self._tables.num_tokens[lead] = 0\n"
        "        return Admission(rows=rows, num_cached_tokens=num_cached, copies=copies)\n",
    ),
    Mutant(
        test="test_refused_at_once.py",
        source="scheduler/scheduler.py",
        old="        if refusal is not None:\n",
        new="        if refusal is not None and not request.request_id:\n",
    ),
    Mutant(
        test="test_bounded_preemptions.py",
        source="scheduler/request_state.py",
        old="        return min((1 << exponent) - 1, num_blocks)\n",
        new="        return 0 * exponent\n",
    ),
    Mutant(
        test="test_preemption_keeps_tokens.py",
        source="scheduler/admission.py",
        old="        state.saved.clear()\n",
        new="        pass\n",
    ),
    Mutant(
        test="test_abort_in_every_state.py",
        source="scheduler/ending.py",
        old="    if not is_in_flight or core.is_idle(state):\n",
        new="    if True:\n",
    ),
    Mutant(
        test="test_one_new_token.py",
        source="scheduler/sampling.py",
        old="num_tokens >= arrays.end_tokens[rows]",
        new="num_tokens > arrays.end_tokens[rows]",
    ),
    Mutant(
        test="test_huge_output_limit.py",
        source="scheduler/admission.py",
        old="    end = min(state.request.num_prompt_tokens + state.request.max_new_tokens,"
        " core.max_model_len)\n",
        new="    end = state.request.num_prompt_tokens + state.request.max_new_tokens\n",
    ),
    Mutant(
        test="test_request_fills_the_pool.py",
        source="scheduler/preemption.py",
        old="    elif core.rows.owner_of(int(running[0])) is not victim:\n",
        new="    elif False:\n",
    ),
    Mutant(
        test="test_fork_is_all_or_nothing.py",
        source="allocator/growth.py",
        old="        if not self._pool.can_supply(num_wanted):\n",
        new="        if num_needed > num_available:\n",
    ),
    Mutant(
        test="test_more_tokens_than_pool.py",
        source="scheduler/preemption.py",
        old="    core.allocator.release(rows)\n",
        new="",
    ),
    Mutant(
        test="test_many_aborts.py",
        source="scheduler/core.py",
        old="            self.allocator.release(rows)\n",
        new="            self.allocator.release(rows[1:])\n",
    ),
    Mutant(
        test="test_newest_block_stays.py",
        source="allocator/eviction.py",
        old="            end = min(self._head + missing, self._tail)\n"
        "            entries = self._log[self._head : end]\n",
        new="            end = min(self._head + missing, self._tail)\n"
        "            self._log[self._head : self._tail] = self.in_order()[::-1]\n"
        "            self._place[self._log[self._head : self._tail]] = np.arange(\n"
        "                self._head, self._tail\n"
        "            )\n"
        "            entries = self._log[self._head : end]\n",
    ),
    Mutant(
        test="test_order_without_a_clock.py",
        source="allocator/paged.py",
        old="            sequences.append(ids[::-1].astype(np.int64))\n",
        new="            sequences.append(ids.astype(np.int64))\n",
    ),
    Mutant(
        test="test_id_used_again.py",
        source="scheduler/queue.py",
        old="        return self._ticket_of.get(state.request.request_id) == ticket\n",
        new="        return bool(ticket) and state.request.request_id in self._ticket_of\n",
    ),
    Mutant(
        test="test_last_of_a_group.py",
        source="scheduler/admission.py",
        old="    state.is_forked = not state.is_group\n",
        new="    state.is_forked = state.request.num_sequences == 1\n",
    ),
    Mutant(
        test="test_last_of_a_group.py",
        source="scheduler/request_state.py",
        old="        return self.rows if self.is_forked else self.rows[:1]\n",
        new="        return self.rows\n",
    ),
    Mutant(
        test="test_moves_without_tokens.py",
        source="engine/engine.py",
        old="        if not batch.num_seqs and not batch.num_moves:\n",
        new="        if not batch.num_seqs:\n",
    ),
    Mutant(
        test="test_often_used_parent.py",
        source="allocator/prefix_chain.py",
        old="            self._pool.retain(np.array([other]))\n",
        new="            self._pool.reuse(np.array([other]))\n",
    ),
    Mutant(
        test="test_abort_before_fork.py",
        source="allocator/prefix_chain.py",
        old="np.full(tables.max_rows, _CLOSED, np.int64)",
        new="np.zeros(tables.max_rows, np.int64)",
    ),
)
