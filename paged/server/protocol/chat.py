"""Requests to `/v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from paged.sampling_params import SamplingParams
from paged.server.protocol.error import ApiError
from paged.server.protocol.messages import MessagesField
from paged.server.protocol.sampling import NOTHING, SamplingFields

# What the template knows under these names already.
_RESERVED = {"messages", "add_generation_prompt", "chat_template", "tokenize", "tools"}


class ChatRequest(SamplingFields):
    """A conversation to answer."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **SamplingFields.unsupported,
        **dict.fromkeys(("tools", "functions", "function_call", "audio"), NOTHING),
        **dict.fromkeys(("prediction", "web_search_options", "documents"), NOTHING),
        **dict.fromkeys(("chat_template", "mm_processor_kwargs", "echo", "suffix"), NOTHING),
        **dict.fromkeys(("reasoning_effort", "verbosity", "store"), NOTHING),
        "tool_choice": (None, "none", "auto"),
        "parallel_tool_calls": (None, True, False),
        "modalities": (None, ["text"]),
        "service_tier": (None, "auto", "default"),
    }
    names: ClassVar[Mapping[str, str]] = {
        **SamplingFields.names,
        "logprobs": "top_logprobs",
    }

    messages: MessagesField = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    def check_fields(self) -> None:
        """Raise ApiError for what is not supported and for what excludes each other."""
        super().check_fields()
        if self.top_logprobs is not None and not self.logprobs:
            raise ApiError("top_logprobs: only with logprobs: true", param="top_logprobs")
        if self.continue_final_message and self.add_generation_prompt:
            raise ApiError(
                "continue_final_message: not with add_generation_prompt",
                param="continue_final_message",
            )
        for name in self.chat_template_kwargs or {}:
            if name in _RESERVED:
                raise ApiError(
                    f"chat_template_kwargs: {name} is no option of a template",
                    param="chat_template_kwargs",
                )

    def params(self) -> SamplingParams:
        """Return how to draw; the output may fill the context. Raises: ConfigError, ApiError."""
        limit = self.max_completion_tokens
        return self.sampling_params(
            max_tokens=self.max_tokens if limit is None else limit,
            logprobs=(self.top_logprobs or 0) if self.logprobs else None,
            prompt_logprobs=self.prompt_logprobs,
        )
