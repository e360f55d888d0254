"""Random requests against an engine on the tiny model, with aborts and injected failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest

from paged.engine import block_moves, model_executor
from paged.engine.engine import Engine
from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine
from paged.engine.request_maker import RequestMaker
from paged.errors import RequestRefused
from paged.grammar import Grammar
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.released import check_released
from tests.helpers.tiny_llm import MAX_MODEL_LEN, StepLog, tiny_model, tiny_model_with

# The kind of request that is a beam search.
_SEARCH = 12
_CUT_SHORT = (FinishReason.ABORT, FinishReason.ERROR)

# Each stands for a kernel or another call that a step makes.
PLACES = ("moves", "inputs", "model", "sample", "result")


class Broken(Exception):
    """What an injected failure raises."""


class Traffic:
    """Drives a frontend at random.

    Requests of one kind draw the same tokens, however far each of them gets; that is
    checked when a sequence ends, and the scheduler after every step.
    ended: sequences by reason. num_failures: steps that failed.
    """

    def __init__(
        self,
        seed: int,
        *,
        failure_rate: float,
        num_blocks: int = 24,
        windows: tuple[int | None, ...] = (None, None),
        **options: Any,
    ) -> None:
        self.random = Random(seed)
        self.ended: Counter[str] = Counter()
        self.num_failures = 0
        self.num_added = 0
        self.log = StepLog()
        self._failure_rate = failure_rate
        options = {"block_size": 4, "max_num_seqs": 6} | options
        config = LLMConfig(model="tiny", num_gpu_blocks_override=num_blocks, **options)
        model = tiny_model_with(windows=windows)
        self.engine: Engine = make_engine(config, model, on_failure=self._on_failure)
        self.engine.observers = (*self.engine.observers, self.log)
        self.frontend = Frontend(self.engine, tiny_model().tokenizer)
        self._maker = RequestMaker(
            tiny_model().tokenizer, vocab_size=258, max_model_len=MAX_MODEL_LEN, seed=seed
        )
        self._open: dict[str, tuple[str, int]] = {}
        self._tokens: dict[tuple[str, int], list[int]] = {}
        self._known: dict[tuple[str, int], list[int]] = {}
        self._outcomes: dict[str, list[tuple[FinishReason, list[int]]]] = {}
        self._found: list[tuple[FinishReason, list[int]]] | None = None

    def _on_failure(self, error: Exception) -> None:
        assert isinstance(error, Broken), error
        self.num_failures += 1

    def run(self, num_requests: int, patch: pytest.MonkeyPatch) -> None:
        """Serve so many requests, then check that nobody holds anything."""
        while self.num_added < num_requests:
            for _ in range(self.random.choice((0, 0, 1, 2, 4))):
                self.add()
            if self._open and self.random.random() < 0.1:
                self.engine.abort(self.random.choice(list(self._open)))
            self.step(patch)
        while self.frontend.has_work:
            self.step(patch)
        self.check_empty()

    def add(self) -> None:
        """Add one request of a few kinds, many of which come back."""
        kind = self.random.randrange(_SEARCH + 1)
        prompt = "the same start " * (kind % 2) + "abcdefgh" * (kind % 4 + 1)
        params = SamplingParams(
            n=(1, 1, 1, 3)[kind % 4],
            temperature=(0.0, 1.0)[kind % 2],
            seed=kind,
            max_tokens=3 + 2 * kind,
            frequency_penalty=0.5 * (kind % 3),
            logprobs=(None, 1)[kind % 5 == 0],
            prompt_logprobs=(None, 0)[kind % 7 == 0],
            stop=tuple("abcdefghijklmnopqrst") if kind % 3 == 0 else (),
            ignore_eos=kind % 2 == 0,
            grammar=Grammar.regex("[a-m]{2,40}") if kind in (1, 3, 8) else None,
        )
        if kind == _SEARCH:
            params = SamplingParams(beam=BeamParams(width=3), n=3, max_tokens=7)
        request = self._maker.make(prompt, params, arrival_s=self.engine.now_s)
        self.num_added += 1
        try:
            self.frontend.add(request)
        except RequestRefused:
            self.ended["refused"] += 1
            return
        self._open[request.request_id] = (str(kind), request.num_sequences)

    def step(self, patch: pytest.MonkeyPatch) -> None:
        """Run one step, which may fail, and check all that is known of it."""
        num_failures = self.num_failures
        with ExitStack() as stack:
            fails = self.random.random() < self._failure_rate
            if fails:
                context = stack.enter_context(patch.context())
                self._break(context, self.random.choice(PLACES))
            deltas = self.frontend.step()
        self.engine.scheduler.check_integrity()
        assert fails or self.num_failures == num_failures
        for delta in deltas:
            key = (delta.request_id, delta.sequence_index)
            self._tokens.setdefault(key, []).extend(delta.tokens)
            if delta.reason is not None:
                assert isinstance(delta.error, Broken) == (delta.reason is FinishReason.ERROR)
                self._end(key, delta.reason)

    def _end(self, key: tuple[str, int], reason: FinishReason) -> None:
        request_id, index = key
        kind, num_left = self._open[request_id]
        self._open[request_id] = (kind, num_left - 1)
        if num_left == 1:
            del self._open[request_id]
        self.ended[reason.value] += 1
        tokens = self._tokens.pop(key)
        if kind == str(_SEARCH):
            self._outcomes.setdefault(request_id, []).append((reason, tokens))
            if num_left == 1:
                self._end_search(self._outcomes.pop(request_id))
            return
        known = self._known.setdefault((kind, index), tokens)
        # Whatever cut one short, the other goes on where it stopped.
        shorter, longer = sorted((tokens, known), key=len)
        assert longer[: len(shorter)] == shorter
        self._known[kind, index] = longer

    def _end_search(self, outcome: list[tuple[FinishReason, list[int]]]) -> None:
        """Check the hypotheses of a search; one that was cut short has any."""
        if not any(reason in _CUT_SHORT for reason, _ in outcome):
            self._found = self._found or outcome
            assert outcome == self._found

    def _break(self, context: pytest.MonkeyPatch, place: str) -> None:
        """Let a step raise before, within or after what it does at a place."""
        is_late = self.random.random() < 0.5

        def broken(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*operands: Any, **others: Any) -> Any:
                if is_late:
                    function(*operands, **others)
                raise Broken(place)

            return call

        executor = self.engine.executor
        targets: dict[str, tuple[object, str]] = {
            "moves": (block_moves, "op_call"),
            "inputs": (executor, "_inputs.make"),
            "model": (executor, "_compute"),
            "sample": (model_executor, "sample"),
            "result": (executor, "execute"),
        }
        owner, name = targets[place]
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        context.setattr(owner, last, broken(getattr(owner, last)))

    def check_empty(self) -> None:
        """Assert that every sequence ended and gave back all it held."""
        assert not self._open
        assert not self._tokens
        check_released(self.engine.scheduler.allocator)
