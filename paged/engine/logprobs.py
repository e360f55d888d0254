"""Log-probabilities of the model itself, as finite numbers that JSON can carry.

They are those of the logits as the model gave them, before penalties, biases and
temperature: what OpenAI reports, and vLLM unless told otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from paged.errors import BadLogits
from paged.types import IndexArray, TokenArray

# Stands for minus infinity, which JSON has no word for. The value is vLLM's.
LEAST_LOGPROB = -9999.0

LogprobArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token, its log-probability, and how many tokens are as likely or likelier."""

    token: int
    logprob: float
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logprobs:
    """Log-probabilities at N places.

    tokens[N], logprobs[N], ranks[N]: of the token that was drawn, or stands there.
    top_tokens[N, most], top_logprobs[N, most]: the most likely tokens, best first, equal
        ones by id; num_top[N] of them were asked for at each place.
    """

    tokens: TokenArray
    logprobs: LogprobArray
    ranks: IndexArray
    top_tokens: TokenArray
    top_logprobs: LogprobArray
    num_top: IndexArray

    def __len__(self) -> int:
        return len(self.tokens)

    def chosen(self, place: int) -> TokenLogprob:
        """Return the token that was drawn at a place."""
        return TokenLogprob(
            token=int(self.tokens[place]),
            logprob=float(self.logprobs[place]),
            rank=int(self.ranks[place]),
        )

    def top(self, place: int) -> list[TokenLogprob]:
        """Return the alternatives asked for at a place, best first."""
        count = int(self.num_top[place])
        tokens = self.top_tokens[place, :count].tolist()
        values = self.top_logprobs[place, :count].tolist()
        return [
            TokenLogprob(token=token, logprob=value, rank=i + 1)
            for i, (token, value) in enumerate(zip(tokens, values, strict=True))
        ]


def logprobs_of(logits: torch.Tensor, tokens: TokenArray, num_top: IndexArray) -> Logprobs:
    """Report given tokens and the most likely ones.

    Shapes: logits[N, vocabulary] float32, tokens[N], num_top[N]. For the tokens of a prompt
    row i of the logits is that of the token before tokens[i].
    """
    chosen = torch.as_tensor(tokens, dtype=torch.int64, device=logits.device)[:, None]
    relative, log_sums = normalizers(logits)
    most = min(int(num_top.max(initial=0)), logits.shape[1])
    best = top_ids(logits, most)
    own = relative.gather(1, chosen)
    return Logprobs(
        tokens=tokens,
        logprobs=_finite(own - log_sums)[:, 0],
        ranks=(relative >= own).sum(1).cpu().numpy(),
        top_tokens=best.to(torch.int32).cpu().numpy(),
        top_logprobs=_finite(relative.gather(1, best) - log_sums),
        num_top=np.minimum(num_top, most),
    )


def normalizers(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Split log-probabilities into what is exact and what is summed: first minus second.

    Returns logits relative to the best of their row [N, vocabulary] and log-sums [N, 1].
    A row's values are the same whatever rows stand beside it: the sum runs in the order of
    ids, and not in that of torch.sum, which changes with the number of rows and threads.
    """
    relative = logits - logits.amax(1, keepdim=True)
    sums = torch.exp(relative).double().cumsum(1)[:, -1:]
    return relative, sums.log().to(logits.dtype)


def top_ids(logits: torch.Tensor, count: int) -> torch.Tensor:
    """Ids of the most likely tokens of each row, best first, equal ones by id. [N, count]."""
    if not count:
        return torch.zeros((len(logits), 0), dtype=torch.int64, device=logits.device)
    least = logits.topk(count, dim=1).values[:, -1:]
    rows, ids = (logits >= least).nonzero(as_tuple=True)
    order = logits[rows, ids].argsort(descending=True, stable=True)
    order = order[rows[order].argsort(stable=True)]
    starts = torch.searchsorted(rows, torch.arange(len(logits), device=logits.device))
    return ids[order][starts[:, None] + torch.arange(count, device=logits.device)]


def check_best(best: torch.Tensor) -> None:
    """Raise BadLogits unless the best logit of each row, best[N], is finite."""
    # by numpy, for torch takes a tenth of a millisecond for the few numbers of a step
    values: npt.NDArray[np.float32] = best.cpu().numpy()  # pyright: ignore[reportUnknownMemberType]
    is_bad = ~np.isfinite(values)
    if is_bad.any():
        raise BadLogits(
            f"expected a finite best logit in each row, got {values[is_bad][0]} in row"
            f" {is_bad.argmax()} of {len(values)}; weights or a kernel are broken"
        )


def _finite(values: torch.Tensor) -> LogprobArray:
    return values.clamp(min=LEAST_LOGPROB).cpu().numpy()
