"""The client of bare sockets, against the floor's application on a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from bench.serving.floor import Floor
from bench.serving.instant import Pace
from bench.serving.load import Load, LoadFailed, recorded, run_load
from paged.server.runner import Listen

EVENTS = [f"data: {number}\n\n".encode() for number in range(4)]


class Served:
    """The floor, or 404 for a model that it does not have."""

    def __init__(self) -> None:
        self.pace = Pace()
        listen = Listen(port=0)
        self._bound = listen.bound_socket()
        self.port = self._bound.getsockname()[1]
        self._floor = Floor(self.pace, whole=b'{"a": 1}', events=EVENTS)
        self.status = 200
        self._server = uvicorn.Server(
            uvicorn.Config(self._answer, log_level="error", interface="asgi3")
        )
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server.serve(sockets=[self._bound]))
        )
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "status": self.status}
            await send(message)

        if scope["type"] == "http":
            await self._floor(scope, receive, changed)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)


@pytest.fixture
def served() -> Iterator[Served]:
    running = Served()
    yield running
    running.stop()


def _load(*, is_streamed: bool, step_s: float = 0.0) -> Load:
    return Load(
        num_streams=3, num_requests=7, output_tokens=2, is_streamed=is_streamed, step_s=step_s
    )


def test_all_pieces_of_all_streams_are_counted(served: Served) -> None:
    # An opening, two tokens, what ends with the last, and the end.
    seen = run_load(_load(is_streamed=True), port=served.port, model="m")
    assert seen.num_events == 7 * 5
    assert seen.delays_s == []


def test_pieces_are_late_by_what_has_passed_since_their_step(served: Served) -> None:
    served.pace.step_s = 0.05
    seen = run_load(_load(is_streamed=True, step_s=0.05), port=served.port, model="m")
    assert seen.seconds > 3 * 0.05
    assert all(0.0 <= delay_s < 0.05 for delay_s in seen.delays_s)
    assert len(seen.delays_s) > 7


def test_whole_answers_have_no_pieces(served: Served) -> None:
    assert run_load(_load(is_streamed=False), port=served.port, model="m").num_events == 0


def test_another_status_is_no_measurement(served: Served) -> None:
    served.status = 404
    with pytest.raises(LoadFailed, match="expected the status 200"):
        run_load(_load(is_streamed=True), port=served.port, model="m")


def test_answers_are_recorded_and_cut_up(served: Served) -> None:
    whole, events = recorded(port=served.port, model="m")
    assert whole == '{"a": 1}'
    assert events == [event.decode() for event in EVENTS]
