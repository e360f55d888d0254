"""The fields that both kinds of completion share, and what they mean to the engine."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from paged.sampling_params import BeamParams, SamplingParams
from paged.server.protocol.error import ApiError
from paged.server.protocol.field_notes import describe
from paged.server.protocol.response_format import GrammarFields

# Values with which a field that is not supported says what happens anyway.
NOTHING: tuple[Any, ...] = (None, False, "", [], {})
_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("allowed_token_ids", "bad_words", "logits_processors"), NOTHING),
    **dict.fromkeys(("cache_salt", "kv_transfer_params", "vllm_xargs"), NOTHING),
    **dict.fromkeys(("structural_tag", "guided_whitespace_pattern"), NOTHING),
    "guided_decoding_backend": (None, "auto", "guidance"),
    "spaces_between_special_tokens": (None, True),
}
_TOKEN_ID = re.compile(r"[0-9]{1,10}")
_log = logging.getLogger("paged.server")


class StreamOptions(BaseModel):
    """What a stream holds beside the text."""

    model_config = ConfigDict(strict=True, extra="allow", json_schema_extra=describe)

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class SamplingFields(GrammarFields):
    """Types are checked here; ranges are those of `SamplingParams`.

    A field that is null or absent has its default. A field nobody knows is logged and passed
    over, for clients send new ones; one whose meaning is known and not served is refused.
    """

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = _UNSUPPORTED
    names: ClassVar[Mapping[str, str]] = {"beam": "use_beam_search", "beam.width": "n"}

    model: str | None = None
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool | None = None
    ignore_eos: bool | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    skip_special_tokens: bool | None = None
    prompt_logprobs: int | None = None
    add_special_tokens: bool | None = None
    truncate_prompt_tokens: int | None = None
    use_beam_search: bool | None = None
    length_penalty: float | None = None
    early_stopping: bool | Literal["never"] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    priority: int | None = None
    request_id: str | None = None
    return_token_ids: bool | None = None
    return_tokens_as_token_ids: bool | None = None
    user: str | None = None

    def api_names(self) -> Mapping[str, str]:
        """Names of fields by what sampling parameters call them, where these differ."""
        return {**self.names, **self.grammar_names}

    @property
    def is_beam_search(self) -> bool:
        """Say whether hypotheses are searched for and nothing is drawn."""
        return bool(self.use_beam_search)

    @property
    def includes_usage(self) -> bool:
        """Say whether a stream ends with what it cost."""
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def repeats_usage(self) -> bool:
        """Say whether every chunk of a stream tells what it has cost so far."""
        return bool(self.stream_options and self.stream_options.continuous_usage_stats)

    def check_fields(self) -> None:
        """Raise ApiError for what is not supported and for what excludes each other."""
        extra = self.model_extra or {}
        for name, value in extra.items():
            if name not in self.unsupported:
                _log.info("field nobody knows: %.60r", name)
            elif value not in self.unsupported[name]:
                raise ApiError(f"{name}: this is not supported; leave it out", param=name)
        if self.stream_options is not None and not self.stream:
            raise ApiError(
                "stream_options: only with stream: true; leave it out", param="stream_options"
            )
        if self.stream and self.prompt_logprobs is not None:
            raise ApiError("prompt_logprobs: not in a stream", param="prompt_logprobs")
        if self.is_beam_search and self.stream:
            raise ApiError(
                "use_beam_search: not in a stream, for its outcome is known at its end",
                param="use_beam_search",
            )

    def sampling_params(
        self, *, max_tokens: int | None, logprobs: int | None, prompt_logprobs: int | None
    ) -> SamplingParams:
        """Return how to draw, with what the kinds of completion name differently.

        Raises: ConfigError, its text starting with the field's name; ApiError.
        """
        given: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        given |= {"logprobs": logprobs, "prompt_logprobs": prompt_logprobs}
        given["grammar"] = None if self.grammar_field is None else self.grammar()
        if self.logit_bias is not None:
            given["logit_bias"] = _biases(self.logit_bias)
        # As vLLM and llama.cpp have it.
        given["seed"] = None if self.seed == -1 else self.seed
        if self.is_beam_search:
            given["beam"] = BeamParams(**_given(self._beam(self.n or 1)))
            given["temperature"] = self.temperature or None
        elif self.length_penalty is not None or self.early_stopping is not None:
            raise ApiError("length_penalty: only with use_beam_search", param="length_penalty")
        return SamplingParams(max_tokens=max_tokens, **_given(given))

    def _beam(self, width: int) -> dict[str, object]:
        return {
            "width": width,
            "length_penalty": self.length_penalty,
            "early_stopping": self.early_stopping,
        }


_SAME = (
    *("n", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty"),
    *("repetition_penalty", "stop", "stop_token_ids", "include_stop_str_in_output", "ignore_eos"),
    *("min_tokens", "skip_special_tokens"),
)


def _given(values: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _biases(values: Mapping[str, float]) -> dict[int, float]:
    for token in values:
        if not _TOKEN_ID.fullmatch(token):
            raise ApiError(
                f"logit_bias: expected token ids as keys, got {token!r:.40}", param="logit_bias"
            )
    return {int(token): bias for token, bias in values.items()}
