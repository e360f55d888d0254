"""Step-time models: how long a batch takes on hardware that is not there.

Source: the two terms of a decode step follow "How to Scale Your Model" (Austin et al.,
2025), chapter on inference: attention streams the KV cache, everything else streams
the weights or is bound by arithmetic, whichever is slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from paged.errors import ConfigError
from paged.hardware import HardwareSpec
from paged.scheduler.batch import Batch
from paged.shapes import ModelShape


class StepTime(Protocol):
    """Answers how long one step takes; evaluated once in every simulated step."""

    def duration_s(self, batch: Batch) -> float:
        """Seconds the batch takes. Reads the batch, changes nothing."""
        ...


def _require_not_negative(name: str, value: float) -> None:
    if not 0.0 <= value < float("inf"):
        raise ConfigError(f"{name} must be finite and at least 0, got {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AffineStepTime:
    """Fixed cost, plus a cost per token read by attention, plus one per token computed.

    base_s: seconds of every step, however small (weights, launches, scheduling).
    context_s_per_token: seconds per token whose K and V are read.
    scheduled_s_per_token: seconds per token computed.
    """

    base_s: float
    context_s_per_token: float
    scheduled_s_per_token: float

    def __post_init__(self) -> None:
        for name in ("base_s", "context_s_per_token", "scheduled_s_per_token"):
            _require_not_negative(name, getattr(self, name))

    def duration_s(self, batch: Batch) -> float:
        """Seconds the batch takes."""
        # careful: this runs every step; ufunc.reduce is half the price of ndarray.sum.
        scheduled = int(np.add.reduce(batch.num_scheduled))
        context = int(np.add.reduce(batch.num_computed)) + scheduled
        return (
            self.base_s
            + self.context_s_per_token * context
            + self.scheduled_s_per_token * scheduled
        )


class RooflineStepTime:
    """Step time from data sheets: bytes moved and arithmetic done at named efficiencies.

    duration = overhead + weights + attention, where
    weights = max(2 * tokens * params / flops, weight bytes / bandwidth) and
    attention = max(4 * layers * heads * head_dim * pairs / flops, KV bytes / bandwidth).
    A pair is one query and one token it attends to. With a pair per context token, as in
    a decode step, bytes always win; in the prefill of a long prompt arithmetic does.
    """

    def __init__(
        self,
        model: ModelShape,
        gpu: HardwareSpec,
        *,
        bandwidth_efficiency: float = 0.9,
        flops_efficiency: float = 0.7,
        overhead_s: float = 0.001,
    ) -> None:
        for name, share in (
            ("bandwidth_efficiency", bandwidth_efficiency),
            ("flops_efficiency", flops_efficiency),
        ):
            if not 0.0 < share <= 1.0:
                raise ConfigError(f"{name} is a share of the peak, 0 < share <= 1, got {share}")
        _require_not_negative("overhead_s", overhead_s)
        bandwidth = gpu.memory_bandwidth_bytes_per_s * bandwidth_efficiency
        flops_per_s = gpu.flops_per_s * flops_efficiency
        pair_flops = 4 * model.num_layers * model.num_heads * model.head_dim
        self._overhead_s = overhead_s
        self._weights_s = model.weight_bytes / bandwidth
        self._compute_s_per_token = 2 * model.num_params / flops_per_s
        self._context_s_per_token = model.kv_bytes_per_token / bandwidth
        self._pair_s = pair_flops / flops_per_s

    def duration_s(self, batch: Batch) -> float:
        """Seconds the batch takes."""
        scheduled = int(np.add.reduce(batch.num_scheduled))
        context = int(np.add.reduce(batch.num_computed)) + scheduled
        weights_s = max(self._weights_s, self._compute_s_per_token * scheduled)
        attention_s = self._context_s_per_token * context
        if scheduled > batch.num_seqs:
            attention_s = max(attention_s, self._pair_s * _num_pairs(batch, scheduled))
        return self._overhead_s + weights_s + attention_s


def _num_pairs(batch: Batch, num_scheduled: int) -> float:
    """Count query and context pairs of causal attention: n (n + 1) / 2 within a chunk."""
    queries = batch.num_scheduled
    within = (int(queries.dot(queries)) + num_scheduled) / 2
    return int(queries.dot(batch.num_computed)) + within
