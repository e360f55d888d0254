"""The distribution that sampling parameters ask for: one row, float64, token by token."""

from __future__ import annotations

import math

import numpy as np

from paged.sampling_params import SamplingParams


def changed_logits(
    logits: list[float], params: SamplingParams, prompt: list[int], output: list[int]
) -> list[float]:
    """Logits after bias and penalties."""
    changed: list[float] = []
    for token, given in enumerate(logits):
        logit = given + params.logit_bias.get(token, 0.0)
        if token in prompt or token in output:
            factor = params.repetition_penalty
            logit = logit / factor if logit > 0 else logit * factor
        logit -= params.frequency_penalty * output.count(token)
        logit -= params.presence_penalty * (token in output)
        changed.append(logit)
    return changed


def distribution(
    logits: list[float],
    params: SamplingParams,
    prompt: list[int] | None = None,
    output: list[int] | None = None,
) -> np.ndarray:
    """Probability of each token."""
    changed = changed_logits(logits, params, prompt or [], output or [])
    if params.is_greedy:
        best = max(range(len(changed)), key=lambda token: (changed[token], -token))
        return np.eye(len(changed))[best]
    scores = [(logit - max(changed)) / params.temperature for logit in changed]
    kept = [score for score in scores if math.exp(score) >= params.min_p]
    if params.top_k is not None:
        least = sorted(kept, reverse=True)[: params.top_k][-1]
        kept = [score for score in kept if score >= least]
    if params.top_p < 1.0:
        total, sum_so_far = sum(math.exp(score) for score in kept), 0.0
        least = -math.inf
        for score in sorted(kept, reverse=True):
            if sum_so_far < params.top_p * total:
                least = score
            sum_so_far += math.exp(score)
        kept = [score for score in kept if score >= least]
    weights = np.array([math.exp(score) if score >= min(kept) else 0.0 for score in scores])
    return weights / weights.sum()
