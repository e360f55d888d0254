"""One request to a server, streamed, with the time of each piece."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any, Literal, cast

import httpx

from paged.errors import ServerError
from paged.loadgen.job import Job
from paged.loadgen.record import Record

Endpoint = Literal["completions", "chat"]
_PATHS: Mapping[Endpoint, str] = {"completions": "completions", "chat": "chat/completions"}
_MOST_ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, and how it is asked.

    url: with or without the /v1 of its paths. extra: more fields of each body.
    timeout_s: for the whole of one request. keeps_connections: for further requests; a server that
        closes one just then has not failed, but the request has.
    """

    url: str
    model: str
    endpoint: Endpoint = "completions"
    api_key: str | None = None
    timeout_s: float = 600.0
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keeps_connections: bool = True

    @property
    def base_url(self) -> str:
        """What all paths start with."""
        return f"{self.url.rstrip('/').removesuffix('/v1')}/v1/"

    def session(self) -> httpx.AsyncClient:
        """Return connections without a limit: a client's own queue would hide the server's."""
        key = {} if self.api_key is None else {"Authorization": f"Bearer {self.api_key}"}
        return httpx.AsyncClient(
            base_url=self.base_url,
            headers=key,
            timeout=httpx.Timeout(None),
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=None if self.keeps_connections else 0,
            ),
            trust_env=False,
        )

    def body(self, job: Job) -> dict[str, Any]:
        """Return what is sent for a job."""
        asked: dict[str, Any] = {"prompt": job.prompt}
        if self.endpoint == "chat":
            asked = {"messages": [{"role": "user", "content": job.prompt}]}
        return {
            "model": self.model,
            **asked,
            "max_tokens": job.num_output_tokens,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.extra,
        }


@dataclass(slots=True)
class _Stream:
    """What has come so far. moments_s: of pieces of text, on the process's clock."""

    moments_s: list[float] = field(default_factory=list[float])
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    is_done: bool = False

    def take(self, line: str) -> None:
        """Take a line of the stream. Raises: ServerError for an error in it."""
        name, _, data = line.partition(":")
        if name != "data":
            return
        now_s = perf_counter()
        if data.strip() == "[DONE]":
            self.is_done = True
            return
        chunk = _object(data)
        if chunk.get("error"):
            raise ServerError(_message(chunk))
        self.usage = chunk.get("usage") or self.usage
        if any(_has_text(choice) for choice in chunk.get("choices") or ()):
            self.moments_s.append(now_s)


class Client:
    """Sends jobs. start_s: of the run, on the process's clock."""

    def __init__(self, session: httpx.AsyncClient, target: Target, *, start_s: float) -> None:
        self._session = session
        self._target = target
        self._start_s = start_s

    async def send(self, job: Job) -> Record:
        """Send a job and return what became of it, an error too."""
        stream, sent_s = _Stream(), perf_counter()
        error: str | None = None
        try:
            async with asyncio.timeout(self._target.timeout_s):
                await self._read(job, stream)
        except TimeoutError:
            error = f"no end within {self._target.timeout_s:g} s"
        except ServerError as refused:
            error = str(refused)
        except httpx.HTTPError as broken:
            error = f"{type(broken).__name__}: {broken}".rstrip(": ")
        return self._record(job, stream, sent_s=sent_s, error=error)

    async def _read(self, job: Job, stream: _Stream) -> None:
        path, body = _PATHS[self._target.endpoint], self._target.body(job)
        async with self._session.stream("POST", path, json=body) as response:
            if not response.is_success:
                await response.aread()
                raise ServerError(f"HTTP {response.status_code}: {_refusal(response.text)}")
            async for line in response.aiter_lines():
                stream.take(line)
        if not stream.is_done:
            raise ServerError("the stream ended without [DONE]")
        if not stream.moments_s:
            raise ServerError("the stream had no text")

    def _record(self, job: Job, stream: _Stream, *, sent_s: float, error: str | None) -> Record:
        moments_s = [moment_s - self._start_s for moment_s in stream.moments_s]
        return Record(
            index=job.index,
            due_s=job.due_s,
            sent_s=sent_s - self._start_s,
            first_s=moments_s[0] if moments_s else None,
            end_s=perf_counter() - self._start_s,
            num_prompt_tokens=stream.usage.get("prompt_tokens"),
            num_output_tokens=stream.usage.get("completion_tokens", len(moments_s)),
            gaps_s=tuple(after - before for before, after in pairwise(moments_s)),
            error=error,
        )


def _object(text: str) -> dict[str, Any]:
    """Parse a JSON object. Raises: ServerError for anything else."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ServerError(f"expected a JSON object, got {text!r:.60}")
    return cast("dict[str, Any]", value)


def _refusal(text: str) -> str:
    """Return what the body of a refusal says, which may come from anything on the way."""
    try:
        return _message(_object(text))
    except ServerError:
        return text[:_MOST_ERROR_CHARACTERS]


def _message(body: Mapping[str, Any]) -> str:
    """Return what an error says: OpenAI nests its message, others do not."""
    told: Any = body.get("error", body)
    if isinstance(told, dict):
        told = cast("dict[str, Any]", told).get("message", body)
    return str(told)[:_MOST_ERROR_CHARACTERS]


def _has_text(choice: Mapping[str, Any]) -> bool:
    delta: Any = choice.get("delta") or {}
    return bool(choice.get("text") or delta.get("content"))
