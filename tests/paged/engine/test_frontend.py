"""What steps add to each stream: text, stop strings, ends, log-probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.engine.engine import Engine
from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine
from paged.engine.outputs import OutputDelta
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Batch, StepResult
from paged.scheduler.request import FinishReason, Request
from tests.helpers.released import check_released
from tests.helpers.tiny_llm import tiny_model


class _Script:
    """Executor that draws the letters of one text, each sequence of a group a step later."""

    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.num_drawn: dict[int, int] = {}

    def execute(self, batch: Batch) -> StepResult:
        for admitted in batch.admitted:
            for place, row in enumerate(admitted.rows.tolist()):
                self.num_drawn[row] = -place
        group = batch.admitted[0].rows if batch.admitted else batch.rows
        rows = group if len(batch.admitted) else batch.rows
        tokens = [self._next(row) for row in rows.tolist()][: batch.num_drawn]
        return StepResult(
            tokens=np.array(tokens, np.int32),
            is_stopped=np.array([token == ord("!") for token in tokens]),
            duration_s=0.0,
        )

    def _next(self, row: int) -> int:
        place = self.num_drawn[row]
        self.num_drawn[row] += 1
        return self.text[place] if place >= 0 else ord("-")


class _Desk:
    def __init__(self, text: str) -> None:
        options = LLMConfig(model="tiny", num_gpu_blocks_override=40, block_size=4, max_num_seqs=4)
        made = make_engine(options, tiny_model(), on_failure=lambda error: None)
        self.engine = Engine(
            made.scheduler, _Script(text), made.clock, on_failure=lambda error: None
        )
        self.frontend = Frontend(self.engine, tiny_model().tokenizer)

    def add(self, name: str = "a", **sampling: Any):
        values: dict[str, Any] = {"max_tokens": 20} | sampling
        params = SamplingParams(**values)
        return self.frontend.add(
            Request(
                request_id=name,
                prompt_tokens=np.array([1, 2], np.int32),
                max_new_tokens=params.num_new_tokens(50),
                num_sequences=params.num_sequences,
                sampling=params,
            )
        )

    def run(self) -> list[OutputDelta]:
        deltas: list[OutputDelta] = []
        while self.frontend.has_work:
            deltas += self.frontend.step()
            self.engine.scheduler.check_integrity()
        check_released(self.engine.scheduler.allocator)
        return deltas


def _text(deltas: list[OutputDelta], index: int = 0) -> str:
    return "".join(delta.text for delta in deltas if delta.sequence_index == index)


def test_each_step_tells_what_it_added() -> None:
    desk = _Desk("hello")
    desk.add(max_tokens=5)
    deltas = desk.run()
    assert [delta.text for delta in deltas] == ["h", "e", "l", "l", "o"]
    assert [delta.reason for delta in deltas] == [None] * 4 + [FinishReason.LENGTH]


def test_a_stop_string_ends_the_sequence_in_the_engine_too() -> None:
    desk = _Desk("one two three")
    desk.add(stop=" t", max_tokens=13)
    deltas = desk.run()
    assert _text(deltas) == "one"
    assert (deltas[-1].reason, deltas[-1].stopped_by) == (FinishReason.STOP, " t")
    assert sum(len(delta.tokens) for delta in deltas) == 5
    assert [delta.reason for delta in deltas].count(None) == len(deltas) - 1


def test_a_stop_string_on_the_last_token_wins_over_the_limit() -> None:
    desk = _Desk("abc")
    desk.add(stop="c", max_tokens=3)
    last = desk.run()[-1]
    assert (last.reason, last.stopped_by) == (FinishReason.STOP, "c")


def test_a_stop_id_leaves_its_text_out() -> None:
    desk = _Desk("ab!c")
    desk.add()
    deltas = desk.run()
    assert _text(deltas) == "ab"
    assert deltas[-1].tokens == (ord("!"),)
    assert (deltas[-1].reason, deltas[-1].stopped_by) == (FinishReason.STOP, None)


def test_one_sequence_of_a_group_stops_and_the_others_go_on() -> None:
    desk = _Desk("abcdef")
    desk.add(n=3, stop="bc", max_tokens=5)
    deltas = desk.run()
    assert [_text(deltas, index) for index in range(3)] == ["a", "-a", "--a"]
    ends = {delta.sequence_index: delta.reason for delta in deltas if delta.reason is not None}
    assert ends == dict.fromkeys(range(3), FinishReason.STOP)


def test_an_abort_tells_an_end_without_tokens() -> None:
    desk = _Desk("abcdef")
    desk.add()
    desk.frontend.step()
    desk.frontend.abort("a")
    (delta,) = desk.run()
    assert (delta.text, delta.tokens, delta.reason) == ("", (), FinishReason.ABORT)


def test_an_id_is_free_again_once_its_stop_string_was_told() -> None:
    desk = _Desk("abcdef")
    desk.add(stop="b", max_tokens=6)
    while not any(delta.reason for delta in desk.frontend.step()):
        pass
    desk.add(max_tokens=2)
    deltas = desk.run()
    assert (_text(deltas), deltas[-1].reason) == ("ab", FinishReason.LENGTH)


def test_a_failed_step_is_told_to_its_requests_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = _Desk("abcdef")
    desk.add()
    desk.frontend.step()

    def fail(batch: Batch) -> StepResult:
        raise ArithmeticError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(desk.engine.executor, "execute", fail)
        (delta,) = desk.frontend.step()
    assert (delta.reason, str(delta.error)) == (FinishReason.ERROR, "broken")
    desk.add("b", max_tokens=2)
    assert _text(desk.run()) == "ab"


def test_tokens_of_a_search_are_told_when_it_ends() -> None:
    # Executors that draw for a search say which beams go on; this one draws for one alone.
    desk = _Desk("abcd")
    desk.add(beam=BeamParams(width=1), max_tokens=3)
    deltas = desk.run()
    assert [delta.text for delta in deltas] == ["abc"]
