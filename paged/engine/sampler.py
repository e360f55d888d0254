"""One token for each row of logits.

Order of the steps, as in vLLM: logit bias, banned tokens, grammars, penalties; then greedy rows
take the likeliest token, and others go on with temperature, min-p, top-k, top-p and a draw.

The draw inverts the cumulative distribution in the order of ids at a number that depends
on seed, sequence and place alone (see `philox`). Each row's arithmetic has a fixed order,
so its token is the same whatever rows stand beside it, and in whatever order they do.
On the CPU the host kernel does all after the penalties; torch, which serves elsewhere and where
there is none, is its reference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from paged.engine.host_sampling import HostSampler, find_sampler
from paged.engine.logprobs import Logprobs, check_best, logprobs_of
from paged.engine.penalties import add, forbid, penalize
from paged.engine.philox import uniforms
from paged.engine.sample_rows import FloatArray, SampleRows
from paged.engine.truncation import least_in_nucleus, least_scores
from paged.kernel.choice import current_choices
from paged.types import IndexArray, TokenArray

# Logits that are worked on at once: what a core's cache holds, and on a GPU a bound on memory.
_CHUNK_ELEMENTS = {"cpu": 2**18, "cuda": 2**25}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """What was drawn.

    tokens[R]. logprobs: those of the draws `SampleRows.logprob_rows`, in that order; None
    where nobody asked.
    """

    tokens: TokenArray
    logprobs: Logprobs | None


def sample(logits: torch.Tensor, rows: SampleRows) -> Sampled:
    """Draw a token for each row.

    Shapes: logits[R, vocabulary] float32, on any device; not changed.
    Raises: BadLogits if a row has no finite best token (NaN, or infinity).
    """
    scores = _changed(logits, rows)
    kernel = find_sampler(current_choices().host) if scores.is_cpu else None
    tokens = _drawn(scores, rows) if kernel is None else _drawn_by(kernel, scores, rows)
    return Sampled(tokens=tokens, logprobs=_logprobs(logits, rows, tokens))


def _drawn_by(kernel: HostSampler, scores: torch.Tensor, rows: SampleRows) -> TokenArray:
    numbers = np.zeros(len(scores))
    drawn = np.flatnonzero(rows.temperature > 0.0)
    if len(drawn):
        numbers[drawn] = _numbers(rows, drawn)
    tokens, best = kernel.draw(scores, rows, numbers)
    check_best(best)
    return tokens


def _drawn(scores: torch.Tensor, rows: SampleRows) -> TokenArray:
    tokens = _best_ids(scores)
    best = scores.gather(1, tokens[:, None])
    check_best(best[:, 0])
    drawn = np.flatnonzero(rows.temperature > 0.0)
    step = max(1, _CHUNK_ELEMENTS[scores.device.type] // scores.shape[1])
    for start in range(0, len(drawn), step):
        part = drawn[start : start + step]
        places = torch.as_tensor(part, device=scores.device)
        tokens[places] = _draw(scores[places] - best[places], rows, part)
    return tokens.to(torch.int32).cpu().numpy()


def _changed(logits: torch.Tensor, rows: SampleRows) -> torch.Tensor:
    """Logits after bias, bans, grammars and penalties: a copy, if anything changes them."""
    changes = (rows.biases, rows.banned, rows.masks, rows.history)
    if all(change is None for change in changes):
        return logits
    logits = logits.clone()
    if rows.biases is not None:
        add(logits, rows.biases)
    if rows.banned is not None:
        add(logits, rows.banned)
    if rows.masks is not None:
        forbid(logits, rows.masks)
    if rows.history is not None:
        penalize(logits, rows.history)
    return logits


def _best_ids(scores: torch.Tensor) -> torch.Tensor:
    """Return the likeliest token of each row, of equal ones the first; of NaNs the first."""
    if scores.device.type == "cpu":
        # numpy's argmax takes a tenth of the time of torch's, on one core.
        return torch.as_tensor(scores.numpy().argmax(1))
    return scores.argmax(1)


def _draw(scores: torch.Tensor, rows: SampleRows, part: IndexArray) -> torch.Tensor:
    """Draw from some rows, which lie at part[N] among all.

    scores[N, vocabulary]: relative to the best of the row; mutated.
    """
    device = scores.device
    scores /= torch.as_tensor(rows.temperature[part], dtype=scores.dtype, device=device)[:, None]
    floors = least_scores(scores, min_p=rows.min_p[part], top_k=rows.top_k[part])
    sums = _sums(scores, floors)
    if (rows.top_p[part] < 1.0).any():
        floors = least_in_nucleus(scores, sums[:, -1:], floors, rows.top_p[part])
        sums = _sums(scores, floors)
    totals = sums[:, -1:]
    # Below the total, even for the largest number, 1 - 2**-53: so some sum exceeds it.
    targets = torch.as_tensor(_numbers(rows, part), device=device)[:, None] * totals
    return torch.searchsorted(sums, targets, right=True)[:, 0]


def _numbers(rows: SampleRows, part: IndexArray) -> FloatArray:
    return uniforms(rows.seed[part], rows.sequence_index[part], rows.draw_index[part])


def _sums(scores: torch.Tensor, floors: torch.Tensor) -> torch.Tensor:
    """Sum up exp(scores) over the scores from the floors up; [N, vocabulary]."""
    weights = torch.exp(scores).masked_fill_(scores < floors, 0.0)
    # Twice as fast as to let cumsum convert.
    return weights.double().cumsum(1)


def _logprobs(logits: torch.Tensor, rows: SampleRows, tokens: TokenArray) -> Logprobs | None:
    if not len(rows.logprob_rows):
        return None
    places = torch.as_tensor(rows.logprob_rows, device=logits.device)
    return logprobs_of(logits[places], tokens[rows.logprob_rows], rows.num_logprobs)
