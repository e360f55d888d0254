"""`POST /v1/chat/completions`: the next turn of a conversation."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from paged.server.answers.answer import Answer
from paged.server.answers.chat_form import ChatForm
from paged.server.answers.choice import Choice, ChoiceOptions
from paged.server.intake import Taken
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.error import api_errors
from paged.server.protocol.json_route import JsonRoute
from paged.server.routes.generation import (
    ANSWERS,
    check_model,
    intake_of,
    model_name,
    respond,
    service_of,
)

router = APIRouter(route_class=JsonRoute)


@router.post("/v1/chat/completions", responses=ANSWERS)
async def create_chat_completion(body: ChatRequest, request: Request) -> Response:
    """Answer a conversation, whole or as a stream of events."""
    check_model(request, body.model)
    intake = intake_of(request)
    with api_errors(body.api_names):
        body.check_fields()
        taken = await intake.chat(body, arrival_s=service_of(request).now_s)
    options = ChoiceOptions(
        has_logprobs=bool(body.logprobs),
        skips_special_tokens=body.skip_special_tokens is not False,
    )

    def answer(taken: Taken) -> Answer:
        return Answer(
            body,
            ChatForm(body, intake.tokenizer),
            [Choice(index, intake.tokenizer, options) for index in range(body.n or 1)],
            answer_id=taken.answer_id,
            model=model_name(request),
        )

    return await respond(request, body, taken, answer)
