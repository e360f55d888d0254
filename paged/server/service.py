"""The engine as the event loop sees it: requests in, pieces of output out, questions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from paged.engine.engine import Engine, Observer
from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.model_engine import make_engine
from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream
from paged.errors import EngineStopped, PagedError, QueueFull
from paged.scheduler.request import Request
from paged.server.engine_thread import EngineThread, Reports
from paged.server.shadow import SHADOWS
from paged.server.submission import Submission
from paged.server.watch import watch_of

T = TypeVar("T")

_log = logging.getLogger("paged.server")


class MakeEngine(Protocol):
    """Builds an engine, as `make_engine` does."""

    def __call__(
        self, options: LLMConfig, model: LoadedModel, *, on_failure: Callable[[Exception], None]
    ) -> Engine:
        """Build it. Raises: as `make_engine`."""
        ...


class EngineService:
    """Owns one engine in a thread of its own. Its methods are for the event loop.

    max_open_requests: that were sent and have not ended; more are refused.
    observers: see the engine's steps, on the engine's thread, beside `watch`, which knows
        what the server shows.
    watch: one of them, for `/metrics` and the block map.
    shadows: policies that follow the traffic, of `SHADOWS`.
    make_engine: builds the engine, and each that takes its place.
    """

    def __init__(
        self,
        config: LLMConfig,
        model: LoadedModel,
        *,
        max_open_requests: int = 1024,
        observers: Sequence[Observer] = (),
        shadows: Sequence[str] = SHADOWS,
        make_engine: MakeEngine = make_engine,
    ) -> None:
        self.config = config
        self.model = model
        self.max_open_requests = max_open_requests
        self.watch = watch_of(config, model, shadows)
        self.observers = [self.watch, *observers]
        self._make_engine = make_engine
        self._num_engines = 0
        self._open: dict[str, tuple[Submission, int]] = {}
        self._asked: set[asyncio.Future[Any]] = set()
        self._thread: EngineThread | None = None
        self._frontend: Frontend | None = None
        self._why_stopped = "it was not started"
        self.died = asyncio.Event()

    @property
    def is_healthy(self) -> bool:
        """Say whether requests are served."""
        return self._frontend is not None

    @property
    def num_open_requests(self) -> int:
        """Requests that were sent and have not ended."""
        return len(self._open)

    @property
    def now_s(self) -> float:
        """Time on the engine's clock. Raises EngineStopped."""
        return self._running().engine.now_s

    async def start(self) -> None:
        """Make the engine and wait until it takes requests; another one, if it has died.

        Raises: as `make_engine`.
        """
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        reports = Reports(
            ready=lambda frontend: _post(loop, self._on_ready, frontend, ready),
            stepped=lambda deltas: _post(loop, self._on_step, deltas),
            died=lambda error: _post(loop, self._on_death, error, ready),
        )
        self._thread = EngineThread(self._make_frontend, reports)
        self._thread.start()
        await ready

    async def stop(self, timeout_s: float = 10.0) -> None:
        """Stop after the step that runs; whoever still waits gets EngineStopped."""
        thread, self._thread = self._thread, None
        self._end("it is being stopped")
        if thread is not None and not await asyncio.to_thread(thread.stop, timeout_s):
            _log.error("the engine's step did not end within %s s", timeout_s)

    async def submit(self, requests: Sequence[Request]) -> Submission:
        """Send requests, all or none. Leave the result's `async with` block in the end.

        Raises: QueueFull, EngineStopped; RequestRefused for what can never run.
        """
        self._running()
        if len(self._open) + len(requests) > self.max_open_requests:
            raise QueueFull(
                f"{len(self._open)} requests are open, and at most {self.max_open_requests}"
                " may be; try again later"
            )
        submission = Submission(requests, self._give_up)
        for index, request in enumerate(requests):
            self._open[request.request_id] = (submission, index)
        try:
            submission.streams = await self.ask(lambda frontend: _add(frontend, requests))
        except BaseException:
            self._give_up(submission)
            raise
        return submission

    async def ask(self, function: Callable[[Frontend], T]) -> T:
        """Run a function on the engine's thread between two steps and return its result.

        Raises: EngineStopped, and what the function raises.
        """
        self._running()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def run(frontend: Frontend) -> None:
            try:
                result = function(frontend)
            except Exception as error:
                _post(loop, _settle, answer, None, error)
            else:
                _post(loop, _settle, answer, result, None)

        self._asked.add(answer)
        try:
            self._put(run)
            return await answer
        finally:
            self._asked.discard(answer)

    def _running(self) -> Frontend:
        if self._frontend is None:
            raise EngineStopped(f"the engine serves no requests: {self._why_stopped}")
        return self._frontend

    def _put(self, command: Callable[[Frontend], None]) -> None:
        if self._thread is not None:
            self._thread.put(command)

    def _make_frontend(self) -> Frontend:
        config = _recording_apart(self.config, self._num_engines)
        engine = self._make_engine(config, self.model, on_failure=_log_failure)
        self._num_engines += 1
        engine.observers = (*engine.observers, *self.observers)
        return Frontend(engine, self.model.tokenizer)

    def _give_up(self, submission: Submission) -> None:
        """Abort what of it still runs; a second call finds nothing to do."""
        running = [request.request_id for request in submission.requests]
        running = [each for each in running if self._open.pop(each, None) is not None]
        if running:
            self._put(lambda frontend: _abort(frontend, running))

    def _on_ready(self, frontend: Frontend, ready: asyncio.Future[None]) -> None:
        self._frontend = frontend
        self.died.clear()
        _settle(ready, None, None)

    def _on_step(self, deltas: list[OutputDelta]) -> None:
        for delta in deltas:
            found = self._open.get(delta.request_id)
            if found is None:
                continue
            submission, index = found
            if submission.push(index, delta):
                del self._open[delta.request_id]

    def _on_death(self, error: BaseException, ready: asyncio.Future[None]) -> None:
        if not ready.done():
            ready.set_exception(error)
            return
        _log.critical("the engine has died", exc_info=error)
        self._thread = None
        self._end(f"it died of {type(error).__name__}")
        self.died.set()

    def _end(self, why: str) -> None:
        """Serve nothing more, and tell everybody who waits."""
        self._frontend, self._why_stopped = None, why
        stopped = EngineStopped(f"the engine serves no requests: {why}")
        waiting = {submission for submission, _ in self._open.values()}
        self._open.clear()
        for submission in waiting:
            submission.fail(stopped)
        for answer in self._asked:
            _settle(answer, None, stopped)


def _recording_apart(config: LLMConfig, num_before: int) -> LLMConfig:
    """Return the configuration of one more engine; it records to a file of its own.

    What led to the death of the one before is in its file, and must stay there.
    """
    if config.record is None or not num_before:
        return config
    return replace(config, record=f"{config.record}.{num_before}")


def _post(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *values: object) -> None:
    """Call a function on the event loop; from any thread."""
    loop.call_soon_threadsafe(function, *values)


def _settle(answer: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    """Answer somebody who may have stopped waiting."""
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


def _add(frontend: Frontend, requests: Sequence[Request]) -> tuple[RequestStream, ...]:
    """Queue all requests or none."""
    streams: list[RequestStream] = []
    try:
        for request in requests:
            streams.append(frontend.add(request))
    except PagedError:
        _abort(frontend, [stream.request.request_id for stream in streams])
        raise
    return tuple(streams)


def _abort(frontend: Frontend, request_ids: Sequence[str]) -> None:
    for request_id in request_ids:
        frontend.abort(request_id)


def _log_failure(error: Exception) -> None:
    _log.error("a step failed, and its requests with it", exc_info=error)
