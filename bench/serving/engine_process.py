"""The engine in a process of its own, to be compared with the thread that the server has.

What it takes to serve plain text, and no more: no metrics, no log-probabilities of prompts.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.serving.instant import Pace, make_paced_engine, paced_model
from paged.engine.engine import Engine, give_up
from paged.engine.frontend import Frontend
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.model_engine import make_engine
from paged.engine.outputs import OutputDelta
from paged.engine.request_stream import RequestStream
from paged.errors import RequestRefused
from paged.scheduler.request import Request
from paged.server.service import EngineService
from paged.server.submission import Submission


class ProcessService(EngineService):
    """An engine's service whose engine is in a child, behind a pipe.

    is_paced: as for `run_child`.
    """

    def __init__(self, config: LLMConfig, model: LoadedModel, *, is_paced: bool) -> None:
        super().__init__(config, model)
        self._is_paced = is_paced
        self._child: Any = None
        self._pipe: Connection | None = None
        self._acknowledged: dict[int, asyncio.Future[str | None]] = {}
        self._num_sent = 0

    @property
    def is_healthy(self) -> bool:
        return self._pipe is not None

    @property
    def now_s(self) -> float:
        return 0.0

    async def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._child = context.Process(
            target=run_child, args=(theirs, self.config, self._is_paced), daemon=True
        )
        self._child.start()
        await asyncio.to_thread(ours.recv)
        self._pipe = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._read)

    async def stop(self, timeout_s: float = 10.0) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.join(timeout_s)

    async def submit(self, requests: Sequence[Request]) -> Submission:
        submission = Submission(requests, self._give_up)
        for index, request in enumerate(requests):
            self._open[request.request_id] = (submission, index)
        tokenizer = self.model.tokenizer
        submission.streams = tuple(RequestStream(request, tokenizer) for request in requests)
        self._num_sent += 1
        answer = asyncio.get_running_loop().create_future()
        self._acknowledged[self._num_sent] = answer
        self.tell("add", self._num_sent, list(requests))
        refusal = await answer
        if refusal is not None:
            raise RequestRefused(refusal)
        return submission

    def tell(self, *command: Any) -> None:
        """Send a command."""
        assert self._pipe is not None
        self._pipe.send_bytes(pickle.dumps(command, pickle.HIGHEST_PROTOCOL))

    def child_cpu_s(self) -> float:
        """Tell the processor time of the child so far, to a hundredth of a second."""
        fields = Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _give_up(self, submission: Submission) -> None:
        running = [request.request_id for request in submission.requests]
        running = [each for each in running if self._open.pop(each, None) is not None]
        if running:
            self.tell("abort", running)

    def _read(self) -> None:
        assert self._pipe is not None
        acknowledged, deltas = pickle.loads(self._pipe.recv_bytes())
        for number, refusal in acknowledged:
            self._acknowledged.pop(number).set_result(refusal)
        self._on_step([_unpacked(each) for each in deltas])


def run_child(pipe: Connection, options: LLMConfig, is_paced: bool) -> None:
    """Load a model and serve a pipe. is_paced: without computing, as `make_paced_engine`."""
    child = _Child(pipe, options, is_paced)
    pipe.send(None)
    while True:
        child.turn()


class _Child:
    def __init__(self, pipe: Connection, options: LLMConfig, is_paced: bool) -> None:
        model = paced_model(options.model) if is_paced else load_model(options)
        self._pace = Pace()
        self._pipe = pipe
        self._frontend = Frontend(_engine(options, model, self._pace, is_paced), model.tokenizer)
        self._acknowledged: list[tuple[int, str | None]] = []

    def turn(self) -> None:
        """Do what was sent, waiting for it if there is nothing else to do, and run a step."""
        while not self._frontend.has_work or self._pipe.poll():
            name, *values = pickle.loads(self._pipe.recv_bytes())
            _COMMANDS[name](self, *values)
        deltas = self._frontend.step()
        if deltas or self._acknowledged:
            message = (self._acknowledged, [_packed(delta) for delta in deltas])
            self._pipe.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
            self._acknowledged = []

    def add(self, number: int, requests: list[Request]) -> None:
        refusal = None
        try:
            for request in requests:
                self._frontend.add(request)
        except RequestRefused as error:
            refusal = str(error)
        self._acknowledged.append((number, refusal))

    def abort(self, request_ids: list[str]) -> None:
        for request_id in request_ids:
            self._frontend.abort(request_id)

    def step(self, step_s: float) -> None:
        self._pace.step_s = step_s


_COMMANDS: dict[str, Callable[..., None]] = {
    "add": _Child.add,
    "abort": _Child.abort,
    "step": _Child.step,
}


def _engine(options: LLMConfig, model: LoadedModel, pace: Pace, is_paced: bool) -> Engine:
    if is_paced:
        return make_paced_engine(options, model, pace=pace, on_failure=give_up)
    return make_engine(options, model, on_failure=give_up)


def _packed(delta: OutputDelta) -> tuple[Any, ...]:
    """Return the fields as a tuple: an object takes pickle ten times as long."""
    return (
        *(delta.request_id, delta.sequence_index, delta.text, delta.tokens),
        *(delta.reason, delta.stopped_by),
    )


def _unpacked(fields: tuple[Any, ...]) -> OutputDelta:
    request_id, sequence_index, text, tokens, reason, stopped_by = fields
    return OutputDelta(
        request_id=request_id,
        sequence_index=sequence_index,
        text=text,
        tokens=tokens,
        reason=reason,
        stopped_by=stopped_by,
    )
