"""Deterministic loads that our side and a peer in another process build alike.

Needs numpy only, for a peer's environment need not have `paged`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

VOCAB_SIZE = 32_000
BLOCK_SIZE = 16
MAX_MODEL_LEN = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyLoad:
    """A batch of num_running sequences that stays that large for ever.

    Every request draws `output_tokens` tokens and is replaced the moment it ends, so one
    ends and one arrives per `output_tokens` sequence-steps. The first requests end early,
    spread evenly; prompt lengths are uniform, so block crossings are spread as well.
    Tokens are random: a prefix cache stores all and shares nothing.
    """

    num_running: int
    output_tokens: int = 300
    min_prompt_tokens: int = 32
    max_prompt_tokens: int = 480
    seed: int = 0

    def first_output_tokens(self) -> list[int]:
        """Output lengths of the requests that are there from the start."""
        return [
            1 + self.output_tokens * index // self.num_running for index in range(self.num_running)
        ]

    def num_ending(self, step: int) -> int:
        """Count the requests that draw their last token in a step, the first being 0.

        A request that ends in one step is replaced in the next, so ends repeat with a
        period of `output_tokens` steps.
        """
        phase = step % self.output_tokens
        # Indices i with output_tokens * i // num_running == phase, as half-open bounds.
        low = -(-phase * self.num_running // self.output_tokens)
        high = -(-(phase + 1) * self.num_running // self.output_tokens)
        return high - low

    @property
    def num_blocks(self) -> int:
        """Blocks of a pool that never preempts, yet must evict once it has run warm.

        Room for every sequence at its full length, on average, and for their spread.
        """
        mean_tokens = (self.min_prompt_tokens + self.max_prompt_tokens) // 2 + self.output_tokens
        most_tokens = self.max_prompt_tokens + self.output_tokens
        spread = math.isqrt(self.num_running) * -(-most_tokens // BLOCK_SIZE)
        return self.num_running * -(-mean_tokens // BLOCK_SIZE) + spread

    def generator(self) -> np.random.Generator:
        """Source of the prompts, the same on every side."""
        return np.random.default_rng(self.seed)

    def draw_prompt(self, generator: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw the next prompt: random tokens, uniform length."""
        length = int(generator.integers(self.min_prompt_tokens, self.max_prompt_tokens + 1))
        return generator.integers(0, VOCAB_SIZE, length, dtype=np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturatedLoad:
    """Requests that are all there at the start and contend for a small pool.

    Lengths are log-normal with the means of the paper's ShareGPT workload (161 prompt and
    338 output tokens; SOSP'23, section 6.1), clipped to 1024 each. `num_blocks` is the
    paper's pool for OPT-13B (15,728 slots).
    """

    num_requests: int
    num_blocks: int = 983
    max_running: int = 256
    seed: int = 0

    def lengths(self) -> tuple[list[int], list[int]]:
        """Prompt and output lengths in tokens, one of each per request."""
        generator = np.random.default_rng(self.seed)
        prompts = generator.lognormal(np.log(161) - 0.5, 1.0, self.num_requests)
        outputs = generator.lognormal(np.log(338) - 0.32, 0.8, self.num_requests)
        clipped = [np.clip(np.rint(each), 1, 1024).astype(int) for each in (prompts, outputs)]
        return clipped[0].tolist(), clipped[1].tolist()
