"""The engine behind the event loop: order, abort, bounds, and what becomes of its death."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from paged.engine.frontend import Frontend
from paged.errors import ConfigError, EngineStopped, IntegrityError, QueueFull, RequestRefused
from paged.sampling_params import SamplingParams
from paged.scheduler.request import Request
from paged.server.service import EngineService
from paged.server.submission import Submission
from tests.helpers.live_server import tiny_service
from tests.helpers.released import check_released


def _request(name: str, prompt: bytes = b"hello", *, max_tokens: int = 6, n: int = 1) -> Request:
    return Request(
        request_id=name,
        prompt_tokens=np.array([256, *prompt], np.int32),
        max_new_tokens=max_tokens,
        num_sequences=n,
        sampling=SamplingParams(n=n, max_tokens=max_tokens, seed=1, ignore_eos=True),
    )


def _run(work: Callable[[EngineService], Awaitable[Any]], **options: Any) -> None:
    """Do work with a running engine, then stop it."""

    async def run() -> None:
        service = tiny_service(**options)
        await service.start()
        try:
            async with asyncio.timeout(60):
                await work(service)
        finally:
            await service.stop()

    asyncio.run(run())


async def _tokens(service: EngineService, *requests: Request) -> list[list[int]]:
    """Run requests and return the tokens of each."""
    tokens: list[list[int]] = [[] for _ in requests]
    async with await service.submit(requests) as submission:
        while (pieces := await submission.pieces()) is not None:
            for index, delta in pieces:
                tokens[index].extend(delta.tokens)
    return tokens


async def _read_to_the_end(submission: Submission) -> None:
    while await submission.pieces() is not None:
        pass


async def _empty(service: EngineService) -> None:
    """Wait until the engine has nothing to do and check that all blocks are back."""
    while await service.ask(lambda frontend: frontend.has_work):
        await asyncio.sleep(0.01)
    await service.ask(lambda frontend: check_released(frontend.engine.scheduler.allocator))
    assert service.num_open_requests == 0


def test_requests_that_are_sent_together_come_back_by_index() -> None:
    async def work(service: EngineService) -> None:
        both = await _tokens(service, _request("a"), _request("b", b"you", max_tokens=9))
        assert [len(tokens) for tokens in both] == [6, 9]
        assert await _tokens(service, _request("c", b"you", max_tokens=9)) == both[1:]
        await _empty(service)

    _run(work)


def test_model_code_runs_on_the_engines_thread_alone() -> None:
    threads: set[str] = set()

    def watched(frontend: Frontend) -> None:
        execute = frontend.engine.executor.execute

        def noting(batch: Any) -> Any:
            threads.add(threading.current_thread().name)
            return execute(batch)

        frontend.engine.executor.execute = noting  # type: ignore[method-assign]

    async def work(service: EngineService) -> None:
        await service.ask(watched)
        await _tokens(service, _request("a"))

    _run(work)
    assert threads == {"engine"}


def test_all_requests_are_taken_or_none() -> None:
    async def work(service: EngineService) -> None:
        with pytest.raises(RequestRefused):
            await service.submit([_request("a"), _request("b", b"x" * 200)])
        await _empty(service)

    _run(work)


def test_leaving_the_block_gives_up_what_runs_and_what_waits() -> None:
    async def work(service: EngineService) -> None:
        requests = [_request(f"r{i}", max_tokens=80) for i in range(12)]
        async with await service.submit(requests) as submission:
            assert await submission.pieces()
        assert service.num_open_requests == 0
        await _empty(service)

    _run(work, max_num_seqs=2)


def test_a_sender_that_is_cancelled_while_the_engine_is_busy_leaves_nothing() -> None:
    async def work(service: EngineService) -> None:
        held, free = threading.Event(), threading.Event()
        waiting = asyncio.ensure_future(service.ask(lambda _: (held.set(), free.wait(30))))
        await asyncio.to_thread(held.wait, 30)
        sending = asyncio.ensure_future(service.submit([_request("a", max_tokens=80)]))
        await asyncio.sleep(0.01)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert service.num_open_requests == 0
        free.set()
        await waiting
        await _empty(service)

    _run(work)


def test_more_than_the_bound_are_refused_and_nothing_of_them_is_left() -> None:
    async def work(service: EngineService) -> None:
        async with await service.submit([_request("a"), _request("b")]):
            with pytest.raises(QueueFull, match="2 requests are open, and at most 3"):
                await service.submit([_request("c"), _request("d")])
            await _tokens(service, _request("e"))
        await _empty(service)

    _run(work, max_open_requests=3)


def test_a_question_is_answered_between_steps_and_may_fail() -> None:
    async def work(service: EngineService) -> None:
        assert await service.ask(lambda frontend: frontend.has_work) is False
        with pytest.raises(ZeroDivisionError):
            await service.ask(lambda _: 1 // 0)
        assert service.is_healthy

    _run(work)


def _die(frontend: Frontend) -> None:
    def step() -> NoReturn:
        raise IntegrityError("a block is owned twice")

    frontend.step = step  # type: ignore[method-assign]


def test_death_is_told_to_all_who_wait_and_another_engine_can_start() -> None:
    async def work(service: EngineService) -> None:
        before = await _tokens(service, _request("a"))
        await service.ask(_die)
        for _ in range(2):
            with pytest.raises(EngineStopped, match="died of IntegrityError"):
                await _tokens(service, _request("b"))
        assert not service.is_healthy
        assert service.num_open_requests == 0
        with pytest.raises(EngineStopped):
            await service.ask(lambda _: None)
        await service.start()
        assert await _tokens(service, _request("a")) == before

    _run(work)


def test_another_engine_records_to_another_file(tmp_path: Path) -> None:
    """The file of the one that died is what its death is to be found in."""
    path = tmp_path / "run"

    async def work(service: EngineService) -> None:
        await _tokens(service, _request("a"))
        before = path.read_bytes()
        await service.ask(_die)
        with pytest.raises(EngineStopped):
            await _tokens(service, _request("b"))
        await service.start()
        await _tokens(service, _request("a"))
        assert path.read_bytes()[: len(before)] == before
        assert (tmp_path / "run.1").stat().st_size > 100

    _run(work, record=str(path))


def test_stopping_ends_what_runs() -> None:
    async def work(service: EngineService) -> None:
        submission = await service.submit([_request("a", max_tokens=80)])
        await service.stop()
        with pytest.raises(EngineStopped, match="being stopped"):
            await _read_to_the_end(submission)

    before = set(threading.enumerate())
    _run(work)
    assert "engine" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_an_engine_that_cannot_be_made_says_why() -> None:
    async def run() -> None:
        service = tiny_service(num_blocks=2)
        with pytest.raises(ConfigError, match="expected room for one sequence"):
            await service.start()
        assert not service.is_healthy
        await service.stop()

    asyncio.run(run())


def test_a_step_that_fails_ends_its_requests_and_no_others() -> None:
    def fail_once(frontend: Frontend) -> None:
        execute = frontend.engine.executor.execute

        def failing(_batch: Any) -> NoReturn:
            frontend.engine.executor.execute = execute  # type: ignore[method-assign]
            raise RuntimeError("out of memory")

        frontend.engine.executor.execute = failing  # type: ignore[method-assign]

    async def work(service: EngineService) -> None:
        wanted = await _tokens(service, _request("a"))
        await service.ask(fail_once)
        async with await service.submit([_request("b")]) as submission:
            deltas = [delta for _, delta in await submission.pieces() or []]
            assert await submission.pieces() is None
        assert [str(delta.error) for delta in deltas] == ["out of memory"]
        assert await _tokens(service, _request("c")) == wanted
        await _empty(service)

    _run(work)
