"""What the endpoints that generate have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse, Response

from paged.server.answers.answer import Answer
from paged.server.config import ServerConfig
from paged.server.disconnect import until_disconnect
from paged.server.event_stream import EventStream, Submit
from paged.server.intake import Intake, Taken
from paged.server.protocol.error import ApiError, api_errors
from paged.server.protocol.sampling import SamplingFields
from paged.server.service import EngineService
from paged.server.submission import Submission

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or with `stream` its events.",
        "content": {"application/json": {}, "text/event-stream": {}},
    }
}
"""What the OpenAPI schema says of answers."""

GONE = Response(status_code=499)
"""For a client that does not read it any more."""


def check_model(request: Request, name: str | None) -> None:
    """Raise ApiError unless the model is this server's."""
    config: ServerConfig = request.app.state.config
    if name is not None and name not in config.served_model_names:
        raise ApiError(f"The model `{name:.200}` does not exist.", status=404, param="model")


def model_name(request: Request) -> str:
    """Return what answers call the model."""
    config: ServerConfig = request.app.state.config
    return config.model_name


def intake_of(request: Request) -> Intake:
    """Return what turns bodies into requests."""
    return request.app.state.intake


def service_of(request: Request) -> EngineService:
    """Return the engine."""
    return request.app.state.service


async def respond(
    request: Request,
    body: SamplingFields,
    taken: Taken,
    make_answer: Callable[[Taken], Answer],
) -> Response:
    """Run what was taken and answer, whole or as a stream; stop where the client leaves."""
    answer = make_answer(taken)
    service = service_of(request)

    async def submit() -> Submission:
        with api_errors(body.api_names):
            return await service.submit(taken.requests)

    if body.stream:
        return EventStream(submit, answer.events)
    whole = await until_disconnect(request.receive, _whole(submit, answer))
    return GONE if whole is None else JSONResponse(whole)


async def _whole(submit: Submit, answer: Answer) -> dict[str, Any]:
    async with await submit() as submission:
        return await answer.whole(submission)
