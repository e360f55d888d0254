"""What an answer has cost, in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from paged.engine.request_stream import RequestStream
from paged.server.answers.choice import Choice


def usage(streams: Sequence[RequestStream], choices: Iterable[Choice]) -> dict[str, Any]:
    """Count the tokens of prompts, each once, and of all choices so far."""
    num_prompt = sum(stream.request.num_prompt_tokens for stream in streams)
    num_output = sum(choice.num_output_tokens for choice in choices)
    num_cached = sum(stream.num_cached_tokens or 0 for stream in streams)
    return {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_output,
        "total_tokens": num_prompt + num_output,
        "prompt_tokens_details": {"cached_tokens": num_cached},
    }
