"""Which tokens may be drawn: min-p, top-k and top-p as one least score for each row.

The order is vLLM's: min-p, then top-k, then top-p over the probabilities of what is left.
Tokens exactly as likely as the last one that stays all stay, so the outcome does not depend
on an order among equals; and since a row has one least score, no row is ever sorted whole.
"""

from __future__ import annotations

import numpy as np
import torch

from paged.engine.sample_rows import FloatArray
from paged.types import IndexArray

# Candidates looked at first for top-p, and how many more when those are too few.
_FIRST_CANDIDATES = 64
_CANDIDATE_STEP = 8


def least_scores(scores: torch.Tensor, *, min_p: FloatArray, top_k: IndexArray) -> torch.Tensor:
    """Find the least score that min-p and top-k leave in each row.

    Shapes: scores[N, vocabulary], relative to the best of the row; result [N, 1].
    """
    device, vocab_size = scores.device, scores.shape[1]
    with np.errstate(divide="ignore"):
        floors = torch.as_tensor(np.log(min_p), dtype=scores.dtype, device=device)[:, None]
    is_cut = top_k < vocab_size
    if is_cut.any():
        counts = np.where(is_cut, top_k, 1)
        best = scores.topk(int(counts.max()), dim=1).values
        last = best.gather(1, torch.as_tensor(counts - 1, device=device)[:, None])
        is_lower = torch.as_tensor(~is_cut, device=device)[:, None]
        floors = torch.maximum(floors, last.masked_fill_(is_lower, -torch.inf))
    return floors


def least_in_nucleus(
    scores: torch.Tensor, totals: torch.Tensor, floors: torch.Tensor, top_p: FloatArray
) -> torch.Tensor:
    """Find the least score of the fewest best tokens that have probability top_p.

    Shapes: scores[N, vocabulary]; totals[N, 1] float64, the sum of exp(scores) from the
    floors[N, 1] up; result [N, 1], at least floors.
    """
    floors = floors.clone()
    pending = torch.as_tensor(np.flatnonzero(top_p < 1.0), device=scores.device)
    wanted = totals * torch.as_tensor(top_p, device=scores.device)[:, None]
    vocab_size, count = scores.shape[1], _FIRST_CANDIDATES
    while len(pending):
        count = min(count, vocab_size)
        best = scores[pending].topk(count, dim=1).values
        sums = torch.exp(best).double().cumsum(1)
        # How many are needed: those with less than the wanted sum up to them, and one more.
        num_short = (sums < wanted[pending]).sum(1, keepdim=True)
        is_found = (num_short < count)[:, 0] | (count == vocab_size)
        last = best.gather(1, num_short.clamp(max=count - 1))
        found = pending[is_found]
        floors[found] = torch.maximum(floors[found], last[is_found])
        pending, count = pending[~is_found], count * _CANDIDATE_STEP
    return floors
