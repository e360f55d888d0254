"""Draws by the host kernel: the steps of `sampler` after penalties, for logits on the CPU."""

from __future__ import annotations

from ctypes import c_int, c_int64, c_void_p
from functools import lru_cache

import numpy as np
import torch

from paged.engine.sample_rows import FloatArray, SampleRows
from paged.kernel.backends.host import Host, HostConfig, find_host
from paged.types import TokenArray


class HostSampler:
    """The kernel of one host."""

    def __init__(self, host: Host) -> None:
        self._num_threads = host.num_threads
        self._sample = host.function(
            *("paged_host_sample", c_void_p, c_int64, c_int64, c_int64),
            *(*(c_void_p,) * 7, c_int),
        )

    def draw(
        self, scores: torch.Tensor, rows: SampleRows, numbers: FloatArray
    ) -> tuple[TokenArray, torch.Tensor]:
        """Return the token of each row, and its best score.

        Shapes: scores[R, vocabulary] float32 on the CPU, numbers[R] from [0, 1); results [R].
        Where the best score is not finite nothing is drawn.
        """
        if scores.stride(1) != 1:
            scores = scores.contiguous()
        num_rows, vocab_size = scores.shape
        tokens, best = np.empty(num_rows, np.int32), np.empty(num_rows, np.float32)
        with np.errstate(divide="ignore"):
            least = np.log(rows.min_p).astype(np.float32)
        by_row = (
            rows.temperature.astype(np.float32),
            least,
            np.ascontiguousarray(rows.top_k, np.int64),
            np.ascontiguousarray(rows.top_p, np.float64),
            np.ascontiguousarray(numbers, np.float64),
            tokens,
            best,
        )
        self._sample(
            *(scores.data_ptr(), scores.stride(0), num_rows, vocab_size),
            *(values.ctypes.data for values in by_row),
            self._num_threads,
        )
        return tokens, torch.from_numpy(best)  # pyright: ignore[reportUnknownMemberType]


@lru_cache(maxsize=32)
def find_sampler(config: HostConfig) -> HostSampler | None:
    """Return the kernel of a configuration, None with one warning where there is none."""
    host = find_host(config)
    return None if host is None else HostSampler(host)
