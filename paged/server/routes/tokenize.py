"""`POST /tokenize` and `/detokenize`: texts to token ids and back."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request

from paged.server.answers.logprobs import LogprobsForm
from paged.server.protocol.chat import ChatRequest
from paged.server.protocol.error import ApiError
from paged.server.protocol.json_route import JsonRoute
from paged.server.protocol.tokenize import DetokenizeRequest, TokenizeRequest
from paged.server.routes.generation import check_model, intake_of, service_of

router = APIRouter(route_class=JsonRoute)


@router.post("/tokenize")
async def tokenize(body: TokenizeRequest, request: Request) -> dict[str, Any]:
    """Return the token ids of a text, or of what the chat template makes of messages."""
    check_model(request, body.model)
    tokenizer = intake_of(request).tokenizer
    if (body.prompt is None) == (body.messages is None):
        raise ApiError("prompt: expected either prompt or messages", param="prompt")
    if body.prompt is not None:
        text, has_special = body.prompt, body.add_special_tokens is not False
    else:
        text, has_special = await _chat_text(body, request), bool(body.add_special_tokens)
    tokens = await asyncio.to_thread(tokenizer.encode, text, add_special_tokens=has_special)
    names = LogprobsForm(tokenizer)
    return {
        "count": len(tokens),
        "max_model_len": service_of(request).model.config.max_model_len,
        "tokens": tokens,
        "token_strs": [names.name(token) for token in tokens] if body.return_token_strs else None,
    }


@router.post("/detokenize")
async def detokenize(body: DetokenizeRequest, request: Request) -> dict[str, Any]:
    """Return the text of token ids, special tokens spelled out."""
    check_model(request, body.model)
    vocab_size = service_of(request).model.config.vocab_size
    if any(not 0 <= token < vocab_size for token in body.tokens):
        raise ApiError(f"tokens: expected ids from 0 to {vocab_size - 1}", param="tokens")
    tokenizer = intake_of(request).tokenizer
    return {"prompt": await asyncio.to_thread(tokenizer.decode, body.tokens, False)}


async def _chat_text(body: TokenizeRequest, request: Request) -> str:
    chat = ChatRequest(
        messages=body.messages,
        add_generation_prompt=body.add_generation_prompt,
        continue_final_message=body.continue_final_message,
        chat_template_kwargs=body.chat_template_kwargs,
    )
    chat.check_fields()
    return await intake_of(request).chat_text(chat)
