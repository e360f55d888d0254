"""What the sequences of a beam search came to: its hypotheses, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from paged.engine.beam import BeamSearch
from paged.engine.outputs import BeamScore
from paged.scheduler.batch import Finished
from paged.scheduler.request import FinishReason
from paged.types import TokenArray


def search_outcome(
    search: BeamSearch, ends: Sequence[Finished]
) -> Iterator[tuple[Finished, BeamScore | None]]:
    """Yield the end of each sequence of a search with its hypothesis in place of its row's tokens.

    ends: all sequences of one request, in order. One that was given up gets its complete
    hypotheses first, then the beams that ran. What a failed step left of a search is not
    known, so its rows stay as they are.
    """
    if ends[0].reason is FinishReason.ERROR:
        yield from ((each, None) for each in ends)
        return
    is_cut_short = ends[0].reason is FinishReason.ABORT
    prompt = np.asarray(ends[0].request.prompt_tokens, np.int32)
    outputs: list[TokenArray] = [each.tokens[len(prompt) :] for each in ends]
    found = search.finish(outputs if is_cut_short else [])
    for end, hypothesis in zip(ends, found, strict=False):
        reason = FinishReason.STOP if hypothesis.is_stopped else end.reason
        tokens = np.concatenate([prompt, hypothesis.tokens])
        score = BeamScore(logprob=hypothesis.logprob, score=hypothesis.score)
        yield replace(end, tokens=tokens, reason=reason), score
    yield from ((each, None) for each in ends[len(found) :])
