"""`POST /v1/completions`: text that goes on from prompts."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from paged.server.answers.answer import Answer
from paged.server.answers.choice import Choice, ChoiceOptions
from paged.server.answers.completion_form import CompletionForm
from paged.server.intake import Intake, Taken
from paged.server.protocol.completion import CompletionRequest
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


@router.post("/v1/completions", responses=ANSWERS)
async def create_completion(body: CompletionRequest, request: Request) -> Response:
    """Complete prompts, whole or as a stream of events."""
    check_model(request, body.model)
    intake = intake_of(request)
    with api_errors(body.api_names):
        body.check_fields()
        taken = await intake.completion(body, arrival_s=service_of(request).now_s)

    def answer(taken: Taken) -> Answer:
        return Answer(
            body,
            CompletionForm(body, intake.tokenizer),
            _choices(body, taken, intake),
            answer_id=taken.answer_id,
            model=model_name(request),
        )

    return await respond(request, body, taken, answer)


def _choices(body: CompletionRequest, taken: Taken, intake: Intake) -> list[Choice]:
    """Return n choices for each prompt."""
    options = ChoiceOptions(
        has_logprobs=body.logprobs is not None,
        has_output=not body.has_no_output,
        skips_special_tokens=body.skip_special_tokens is not False,
    )
    num_each = body.n or 1
    return [
        Choice(
            index,
            intake.tokenizer,
            options,
            echo=taken.texts[index // num_each] if body.echo else None,
        )
        for index in range(num_each * len(taken.requests))
    ]
