"""Several readers of one engine."""

from __future__ import annotations

from typing import NoReturn

import pytest

from paged.engine.engine import give_up
from paged.engine.frontend import Frontend
from paged.engine.generation import Generation, Switch
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine
from paged.engine.request_maker import RequestMaker
from paged.errors import RequestRefused
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason
from tests.helpers.released import check_released
from tests.helpers.tiny_llm import tiny_model


class _Desk:
    """A switch, its engine, and requests of a few tokens."""

    def __init__(self) -> None:
        model = tiny_model()
        options = LLMConfig(model="tiny", num_gpu_blocks_override=24, block_size=4, max_num_seqs=4)
        self.engine = make_engine(options, model, on_failure=give_up)
        self.switch = Switch(Frontend(self.engine, model.tokenizer))
        self.maker = RequestMaker(model.tokenizer, vocab_size=258, max_model_len=96, seed=0)

    def start(self, *prompts: str, max_tokens: int = 4, request_id: str | None = None):
        params = SamplingParams(max_tokens=max_tokens, temperature=0.0, ignore_eos=True)
        requests = [
            self.maker.make(prompt, params, arrival_s=0.0, request_id=request_id)
            for prompt in prompts
        ]
        return self.switch.start(requests)


@pytest.fixture
def desk() -> _Desk:
    return _Desk()


def _tokens(generation: Generation) -> dict[int, int]:
    counts: dict[int, int] = {}
    for index, delta in generation:
        counts[index] = counts.get(index, 0) + len(delta.tokens)
    return counts


def test_pieces_come_with_the_index_of_their_request(desk: _Desk) -> None:
    assert _tokens(desk.start("a", "b")) == {0: 4, 1: 4}
    assert not desk.engine.has_work


def test_what_one_reader_runs_for_another_is_kept(desk: _Desk) -> None:
    first, second = desk.start("a"), desk.start("b", max_tokens=3)
    next(first)
    assert _tokens(second) == {0: 3}
    assert _tokens(first) == {0: 3}  # one piece was read above
    assert list(first) == []


def test_closing_gives_up_what_has_not_ended(desk: _Desk) -> None:
    other = desk.start("b")
    with desk.start("a", max_tokens=80) as generation:
        next(generation)
    assert list(generation) == []
    assert _tokens(other) == {0: 4}
    assert not desk.engine.has_work
    check_released(desk.engine.scheduler.allocator)


def test_a_generation_that_is_never_read_can_be_closed(desk: _Desk) -> None:
    desk.start("a").close()
    assert _tokens(desk.start("b")) == {0: 4}
    assert not desk.engine.has_work


def test_a_refused_request_takes_the_others_of_its_call_along(desk: _Desk) -> None:
    running = desk.start("a")
    with pytest.raises(RequestRefused, match="request id 'same' is in use"):
        desk.start("b", "c", request_id="same")
    assert desk.engine.scheduler.num_waiting == 1
    assert _tokens(running) == {0: 4}
    assert not desk.engine.has_work


def test_an_interrupt_gives_the_readers_requests_up(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(batch: object) -> NoReturn:
        raise KeyboardInterrupt

    generation = desk.start("a")
    with monkeypatch.context() as patch:
        patch.setattr(desk.engine.executor, "execute", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(generation)
    assert list(generation) == []
    assert _tokens(desk.start("b")) == {0: 4}


def test_an_aborted_request_tells_its_end_to_its_reader(desk: _Desk) -> None:
    generation = desk.start("a", max_tokens=80)
    next(generation)
    desk.engine.abort("0")
    (last,) = list(generation)
    assert (last[1].reason, last[1].tokens) == (FinishReason.ABORT, ())
