"""The step loop: what is executed, when time passes, who watches."""

from __future__ import annotations

import numpy as np
import pytest

from paged.allocator.registry import make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.errors import RequestRefused
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.request import FinishReason, Request
from paged.scheduler.scheduler import Scheduler


class Script:
    """Executor and observer that draws zeros in half a second and writes down what it sees."""

    def __init__(self) -> None:
        self.executed: list[Batch] = []
        self.steps: list[tuple[float, int, int]] = []
        self.ends: list[tuple[str, float]] = []

    def execute(self, batch: Batch) -> StepResult:
        self.executed.append(batch)
        count = int(batch.num_samples.sum())
        return StepResult(
            tokens=np.zeros(count, np.int32),
            is_stopped=np.zeros(count, np.bool_),
            duration_s=0.5,
        )

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        usage = scheduler.allocator.usage(None)
        self.steps.append((start_s, len(result.tokens), usage.token))

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        self.ends.append((finished.request.request_id, now_s))


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def engine(script: Script) -> Engine:
    cache = CacheConfig(num_blocks=4, block_size=4, max_model_len=16, watermark=0.0)
    allocator = make_allocator(cache, max_rows=4)
    scheduler = Scheduler(SchedulerConfig(max_num_seqs=4), allocator, max_model_len=16)
    return Engine(scheduler, script, VirtualClock(10.0), [script])


def _request(name: str, num_tokens: int = 3, num_new: int = 2) -> Request:
    prompt = np.ones(num_tokens, np.int32)
    return Request(request_id=name, prompt_tokens=prompt, max_new_tokens=num_new)


def test_a_request_is_served_step_by_step(engine: Engine, script: Script) -> None:
    engine.add_request(_request("a"))
    assert engine.has_work
    assert engine.step() == []
    (finished,) = engine.step()
    assert (finished.num_new_tokens, finished.reason) == (2, FinishReason.LENGTH)
    assert not engine.has_work
    assert engine.now_s == 11.0


def test_observers_see_a_step_before_memory_is_given_back(engine: Engine, script: Script) -> None:
    engine.add_request(_request("a"))
    engine.step()
    engine.step()
    # The second step stores the fourth token; the sequence that ends in it still counts.
    assert script.steps == [(10.0, 1, 3), (10.5, 1, 4)]
    assert script.ends == [("a", 11.0)]


def test_a_step_without_work_executes_nothing_and_takes_no_time(
    engine: Engine, script: Script
) -> None:
    assert engine.step() == []
    assert (script.executed, script.steps, engine.now_s) == ([], [], 10.0)


def test_an_end_without_a_batch_is_reported(engine: Engine, script: Script) -> None:
    engine.add_request(_request("a"))
    engine.abort("a")
    (finished,) = engine.step()
    assert finished.reason is FinishReason.ABORT
    assert (script.executed, script.ends) == ([], [("a", 10.0)])


def test_a_refused_request_leaves_no_work(engine: Engine) -> None:
    with pytest.raises(RequestRefused, match="leaves no room for output"):
        engine.add_request(_request("a", num_tokens=16))
    assert not engine.has_work


def test_an_id_in_use_is_refused(engine: Engine) -> None:
    engine.add_request(_request("a"))
    with pytest.raises(RequestRefused, match="request id 'a' is in use; choose another"):
        engine.add_request(_request("a"))
    while engine.has_work:
        engine.step()
    engine.add_request(_request("a"))


def test_aborting_an_unknown_id_does_nothing(engine: Engine) -> None:
    engine.abort("nobody")
    assert not engine.has_work


def _fail(batch: Batch) -> StepResult:
    raise ArithmeticError("no device")


def test_a_failed_step_raises_unless_told_otherwise(
    engine: Engine, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.add_request(_request("a"))
    monkeypatch.setattr(script, "execute", _fail)
    with pytest.raises(ArithmeticError, match="no device"):
        engine.step()
    engine.scheduler.check_integrity()
    assert not engine.has_work


def test_an_engine_outlives_a_failed_step(
    engine: Engine, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = []
    engine.on_failure = failures.append
    engine.add_request(_request("a"))
    with monkeypatch.context() as patch:
        patch.setattr(script, "execute", _fail)
        (finished,) = engine.step()
    assert (finished.reason, finished.error) == (FinishReason.ERROR, failures[0])
    assert script.ends == [("a", 10.0)]
    engine.add_request(_request("b"))
    engine.step()
    (finished,) = engine.step()
    assert finished.reason is FinishReason.LENGTH


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
def test_neither_an_interrupt_nor_an_observer_leaves_a_step_in_flight(
    engine: Engine, script: Script, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupt(**step: object) -> None:
        raise error

    engine.add_request(_request("a"))
    with monkeypatch.context() as patch:
        patch.setattr(script, "on_step", interrupt)
        with pytest.raises(error):
            engine.step()
    engine.add_request(_request("b"))
    engine.step()
    assert len(engine.step()) == 1
