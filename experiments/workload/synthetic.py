"""Synthetic workloads: lengths drawn from fitted distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from experiments.workload.errors import require
from experiments.workload.streams import Stream, make_stream
from experiments.workload.workload import FloatArray, Workload
from paged.types import BoolArray, IndexArray

# Drawn at a time, whatever is asked for: the first requests of a longer workload are
# those of a shorter one.
_CHUNK_REQUESTS = 4096

DrawLengths = Callable[[np.random.Generator, int], tuple[IndexArray, IndexArray]]
"""Draws prompt and output lengths of a number of requests."""

Accepts = Callable[[IndexArray, IndexArray], BoolArray]
"""Tells by prompt and output lengths which draws to keep."""


class MakeWorkload(Protocol):
    """Draws a workload; equal seeds give equal workloads."""

    def __call__(self, seed: int, num_requests: int) -> Workload:
        """Draw num_requests requests. Raises: WorkloadError if that is below 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChatLengths:
    """Lognormal prompts and gamma outputs, by the means of the whole distributions."""

    prompt_mean: float
    prompt_sigma: float
    output_mean: float
    output_shape: float
    least_tokens: int

    def draw(self, random: np.random.Generator, num: int) -> tuple[IndexArray, IndexArray]:
        """Draw whole lengths of at least least_tokens."""
        prompt_mu = math.log(self.prompt_mean) - self.prompt_sigma**2 / 2
        prompts = random.lognormal(prompt_mu, self.prompt_sigma, num)
        scale = self.output_mean / self.output_shape
        outputs = random.gamma(self.output_shape, scale, num)
        return self._to_tokens(prompts), self._to_tokens(outputs)

    @staticmethod
    def accepts(prompts: IndexArray, outputs: IndexArray) -> BoolArray:
        """Keep what the vLLM benchmark keeps of a context of 2048 tokens."""
        return (prompts <= 1024) & (prompts + outputs <= 2048)

    def _to_tokens(self, lengths: FloatArray) -> IndexArray:
        return np.maximum(np.rint(lengths), self.least_tokens).astype(np.int64)


_SHAREGPT = _ChatLengths(
    prompt_mean=245.7, prompt_sigma=1.45, output_mean=338.0, output_shape=1.217, least_tokens=4
)
_ALPACA = _ChatLengths(
    prompt_mean=19.31, prompt_sigma=0.9, output_mean=58.45, output_shape=0.9, least_tokens=1
)


def sharegpt_like(seed: int, num_requests: int) -> Workload:
    """Draw lengths like those of ShareGPT in the vLLM paper: means about 154 and 334.

    Raises: WorkloadError if num_requests is below 1.
    Source: fitted to SOSP'23, section 6.1 and Figure 2.
    """
    return draw_workload(
        "sharegpt-like",
        "synthetic: prompt lognormal(mean 245.7, sigma 1.45), output gamma(mean 338.0,"
        " shape 1.217), independent; at least 4 each, prompt <= 1024, sum <= 2048",
        _SHAREGPT.draw,
        _SHAREGPT.accepts,
        seed=seed,
        num_requests=num_requests,
    )


def alpaca_like(seed: int, num_requests: int) -> Workload:
    """Draw lengths like those of Alpaca in the vLLM paper: means about 19 and 58.

    Raises: WorkloadError if num_requests is below 1.
    Source: fitted to SOSP'23, section 6.1.
    """
    return draw_workload(
        "alpaca-like",
        "synthetic: prompt lognormal(mean 19.31, sigma 0.9), output gamma(mean 58.45,"
        " shape 0.9), independent; at least 1 each, prompt <= 1024, sum <= 2048",
        _ALPACA.draw,
        _ALPACA.accepts,
        seed=seed,
        num_requests=num_requests,
    )


SYNTHETIC: Mapping[str, MakeWorkload] = {
    "sharegpt-like": sharegpt_like,
    "alpaca-like": alpaca_like,
}
"""Built-in workloads by name."""


def draw_workload(
    name: str, source: str, draw: DrawLengths, accepts: Accepts, *, seed: int, num_requests: int
) -> Workload:
    """Draw lengths until num_requests are accepted.

    Raises: WorkloadError if num_requests is below 1, or nothing is ever accepted.
    """
    require(num_requests >= 1, f"num_requests must be at least 1, got {num_requests}")
    random = make_stream(seed, Stream.LENGTHS)
    chunks: list[tuple[IndexArray, IndexArray]] = []
    num_accepted = 0
    while num_accepted < num_requests:
        prompts, outputs = draw(random, _CHUNK_REQUESTS)
        is_kept = accepts(prompts, outputs)
        require(bool(is_kept.any()), f"{name}: none of {_CHUNK_REQUESTS} draws is acceptable")
        chunks.append((prompts[is_kept], outputs[is_kept]))
        num_accepted += int(is_kept.sum())
    prompts, outputs = (
        np.concatenate(column)[:num_requests] for column in zip(*chunks, strict=True)
    )
    return Workload(
        name=name,
        source=f"{source}; seed {seed}",
        prompt_tokens=prompts,
        output_tokens=outputs,
        num_rows_read=num_requests,
    )
