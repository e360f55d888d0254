"""A server that streams what it is told, when it is told: for what measures servers."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Write = asyncio.StreamWriter
MODELS = b'{"object": "list", "data": [{"id": "fake"}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How a request is answered.

    first_s, gap_s: before the first piece of text and before each other one.
    usage: whether the last event has the tokens counted. lines: sent in place of all that.
    """

    status: int = 200
    first_s: float = 0.0
    gap_s: float = 0.0
    num_pieces: int = 3
    usage: bool = True
    is_done: bool = True
    lines: tuple[str, ...] | None = None
    body: str = ""


@dataclass(slots=True)
class FakeServer:
    """Answers over HTTP/1.1, one request a connection.

    script: what to do with a body. num_at_once: answers at the same time; others wait.
    bodies: all that came, with paths and headers. most_at_once: answers that ran together.
    """

    script: Callable[[dict[str, Any]], Script]
    num_at_once: int = 1000
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    most_at_once: int = 0
    port: int = 0
    _num_now: int = 0
    _places: asyncio.Semaphore | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _stopped: asyncio.Event | None = None
    _tasks: set[asyncio.Future[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, ready: threading.Event) -> None:
        """Answer until `stop`; what runs then breaks off."""
        self._places = asyncio.Semaphore(self.num_at_once)
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await self._stopped.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop(self) -> None:
        """Let `serve` return, from another thread."""
        assert self._loop is not None
        assert self._stopped is not None
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _connected(self, reader: asyncio.StreamReader, writer: Write) -> None:
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._tasks.add(task)
        try:
            await task
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: Write) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        lengths = re.findall(r"(?i)\ncontent-length: (\d+)", head)
        body = json.loads(await reader.readexactly(int(lengths[0])) if lengths else b"{}")
        self.paths.append(path)
        self.headers.append(head)
        if path.endswith("/models"):
            _begin(writer, 200, "application/json")
            writer.write(MODELS)
            return
        self.bodies.append(body)
        assert self._places is not None
        async with self._places:
            self._num_now += 1
            self.most_at_once = max(self.most_at_once, self._num_now)
            try:
                await _stream(writer, self.script(body), is_chat="chat" in path)
            finally:
                self._num_now -= 1


def _begin(writer: Write, status: int, kind: str) -> None:
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n".encode())
    writer.write(b"Connection: close\r\n\r\n")


async def _stream(writer: Write, script: Script, *, is_chat: bool) -> None:
    if script.status != 200:
        _begin(writer, script.status, "application/json")
        writer.write(script.body.encode())
        return
    _begin(writer, 200, "text/event-stream")
    if script.lines is not None:
        writer.write("".join(f"{line}\n\n" for line in script.lines).encode())
        return
    if is_chat:
        await _event(writer, {"choices": [{"delta": {"role": "assistant"}}]})
    for piece in range(script.num_pieces):
        await asyncio.sleep(script.gap_s if piece else script.first_s)
        choice = {"delta": {"content": " x"}} if is_chat else {"text": " x"}
        await _event(writer, {"choices": [{"index": 0, **choice}]})
    if script.usage:
        usage = {"prompt_tokens": 7, "completion_tokens": script.num_pieces}
        await _event(writer, {"choices": [], "usage": usage})
    if script.is_done:
        writer.write(b"data: [DONE]\n\n")


async def _event(writer: Write, value: dict[str, Any]) -> None:
    writer.write(f"data: {json.dumps(value)}\n\n".encode())
    await writer.drain()


@contextmanager
def fake_server(
    script: Callable[[dict[str, Any]], Script] | Script, *, num_at_once: int = 1000
) -> Iterator[FakeServer]:
    """Serve inside the block, in a thread."""
    answer = (lambda _body: script) if isinstance(script, Script) else script
    server = FakeServer(answer, num_at_once=num_at_once)
    ready = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(ready)))
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()
