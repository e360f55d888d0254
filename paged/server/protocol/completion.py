"""Requests to `/v1/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from paged.sampling_params import SamplingParams
from paged.server.protocol.error import ApiError
from paged.server.protocol.field_notes import DEFAULT_MAX_TOKENS
from paged.server.protocol.prompt import PromptField
from paged.server.protocol.sampling import SamplingFields


class CompletionRequest(SamplingFields):
    """Prompts to go on from."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **SamplingFields.unsupported,
        "suffix": (None, ""),
    }

    prompt: PromptField = None
    echo: bool | None = None
    logprobs: int | None = None
    best_of: int | None = None

    @property
    def has_no_output(self) -> bool:
        """Say whether the prompt alone is asked for."""
        return bool(self.echo) and self.max_tokens == 0

    def check_fields(self) -> None:
        """Raise ApiError for what is not supported and for what excludes each other."""
        super().check_fields()
        if self.best_of is not None and self.best_of != (self.n or 1):
            raise ApiError("best_of: only the value of n is supported", param="best_of")

    def params(self) -> SamplingParams:
        """Return how to draw. Raises: ConfigError, ApiError."""
        prompt_logprobs = self.prompt_logprobs
        if self.echo and self.logprobs is not None:
            prompt_logprobs = max(self.logprobs, prompt_logprobs or 0)
        return self.sampling_params(
            max_tokens=self._max_tokens(),
            logprobs=self.logprobs,
            prompt_logprobs=prompt_logprobs,
        )

    def _max_tokens(self) -> int:
        if self.has_no_output:
            return 1  # One token is drawn, and kept from the answer.
        return DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens
