"""Several readers of one engine."""

from __future__ import annotations

import gc
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NoReturn

import pytest

from paged.engine.engine import give_up
from paged.engine.frontend import Frontend
from paged.engine.generation import Generation, Switch
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine
from paged.engine.request_maker import RequestMaker
from paged.errors import RequestRefused
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason, Request
from tests.helpers.released import check_released
from tests.helpers.tiny_llm import tiny_model

Interrupt = Callable[..., None]


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


@pytest.fixture
def interrupted_before(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch, ctrl_c: Callable[[], None]
) -> Interrupt:
    """Return what puts real interrupts, one by default, before the next call of a method."""

    def patch(owner: object, name: str, count: int = 1) -> None:
        original = getattr(owner, name)

        def interrupted(*operands: Any, **options: Any) -> Any:
            monkeypatch.setattr(owner, name, original)
            for _ in range(count):
                ctrl_c()
            return original(*operands, **options)

        monkeypatch.setattr(owner, name, interrupted)

    return patch


def _check_whole(desk: _Desk) -> None:
    """Assert that nothing is left of earlier requests, and that the engine works."""
    scheduler = desk.engine.scheduler
    scheduler.check_integrity()
    assert (scheduler.num_running, scheduler.num_waiting) == (0, 0)
    check_released(scheduler.allocator)
    assert _tokens(desk.start("next")) == {0: 4}
    assert not desk.engine.has_work


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    ("part", "method"),
    [
        ("scheduler.allocator.tables", "take_rows"),
        ("scheduler.allocator", "admit"),
        ("scheduler", "schedule"),
        ("executor._planner", "plan"),
        ("executor", "forward"),
        ("executor._table", "select"),
        ("scheduler.allocator", "grow"),
        ("scheduler", "update"),
    ],
)
def test_interrupts_anywhere_in_a_step_leave_nothing_behind(
    desk: _Desk, interrupted_before: Interrupt, part: str, method: str, count: int
) -> None:
    generation = desk.start("a", "b", max_tokens=80)
    interrupted_before(attrgetter(part)(desk.engine), method, count)
    with pytest.raises(KeyboardInterrupt):
        list(generation)
    assert list(generation) == []
    _check_whole(desk)


def test_an_interrupt_while_queueing_takes_all_of_the_call_back(
    desk: _Desk, interrupted_before: Interrupt
) -> None:
    interrupted_before(desk.engine, "add_request")
    with pytest.raises(KeyboardInterrupt):
        desk.start("a", "b")
    _check_whole(desk)


def test_an_interrupt_while_closing_gives_up_the_rest(
    desk: _Desk, interrupted_before: Interrupt
) -> None:
    generation = desk.start("a", "b", "c", max_tokens=80)
    next(generation)
    interrupted_before(desk.engine, "abort")
    with pytest.raises(KeyboardInterrupt):
        generation.close()
    _check_whole(desk)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_any_error_while_queueing_takes_the_earlier_prompts_back(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    add = desk.engine.add_request

    def fail_third(request: Request) -> None:
        if desk.engine.scheduler.num_waiting == 2:
            raise error
        add(request)

    with monkeypatch.context() as patch:
        patch.setattr(desk.engine, "add_request", fail_third)
        with pytest.raises(error):
            desk.start("a", "b", "c")
    _check_whole(desk)


def test_one_abort_that_fails_does_not_keep_the_others(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    abort, failed = desk.engine.abort, []

    def fail_first_two(request_id: str) -> None:
        abort(request_id)
        if len(failed) < 2:
            failed.append(request_id)
            raise ArithmeticError(request_id)

    generation = desk.start("a", "b", "c", max_tokens=80)
    next(generation)
    with monkeypatch.context() as patch:
        patch.setattr(desk.engine, "abort", fail_first_two)
        with pytest.raises(ArithmeticError, match=r"^0$"):
            generation.close()
    assert failed == ["0", "1"]
    _check_whole(desk)


def test_a_dropped_generation_is_given_up_by_the_next_call(desk: _Desk) -> None:
    for _ in desk.start("a", max_tokens=80):
        break
    gc.collect()
    assert desk.engine.scheduler.num_running == 1
    other = desk.start("b")
    assert desk.engine.scheduler.num_running == 0
    with pytest.raises(KeyError):
        desk.switch.take("0")
    assert _tokens(other) == {0: 4}
    _check_whole(desk)


def test_a_generation_dropped_in_the_middle_of_a_step_ends_in_the_next(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = desk.engine.scheduler
    dropped = [desk.start("a", max_tokens=80)]
    other = desk.start("b")
    schedule = scheduler.schedule

    def drop() -> object:
        dropped.clear()
        gc.collect()
        return schedule()

    monkeypatch.setattr(scheduler, "schedule", drop)
    next(other)
    assert scheduler.num_running == 2
    next(other)
    assert scheduler.num_running == 1
    assert len(list(other)) == 2
    _check_whole(desk)
