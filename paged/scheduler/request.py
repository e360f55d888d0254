"""What a user asks for, and what became of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from paged.errors import ConfigError
from paged.sampling_params import SamplingParams
from paged.types import TokenArray


class FinishReason(enum.Enum):
    """Why a sequence ended."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: a prompt and how many sequences to draw from it.

    prompt_tokens: int32 ids, at least one. `length_only_prompt` makes one that costs
        no memory, for traces that record lengths and no text.
    max_new_tokens: output limit per sequence, at least 1.
    arrival_s: when it arrived, on the engine's clock.
    priority: lower runs first under the priority policy, ignored under fcfs.
    final_new_tokens: true output length, for allocators that are told the future.
    sampling: how an executor draws the output; None where the executor knows it.
    """

    request_id: str
    prompt_tokens: TokenArray
    max_new_tokens: int
    arrival_s: float = 0.0
    priority: int = 0
    num_sequences: int = 1
    final_new_tokens: int | None = None
    sampling: SamplingParams | None = None

    def __post_init__(self) -> None:
        for name in ("max_new_tokens", "num_sequences"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.prompt_tokens.ndim != 1 or len(self.prompt_tokens) < 1:
            raise ConfigError(
                f"prompt_tokens must be one-dimensional and hold at least one token,"
                f" got shape {self.prompt_tokens.shape}"
            )

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt in tokens."""
        return len(self.prompt_tokens)


def length_only_prompt(num_tokens: int) -> TokenArray:
    """Prompt of num_tokens equal tokens that takes no memory however long it is."""
    return np.broadcast_to(np.int32(0), (num_tokens,))
