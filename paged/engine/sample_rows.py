"""What the draws of a step need to know, as arrays by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paged.types import BoolArray, IndexArray, TokenArray

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entries:
    """Values at single places of the logits: rows[i], tokens[i] -> values[i]; no place twice."""

    rows: IndexArray
    tokens: IndexArray
    values: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masks:
    """Draws rows[M] that may take some tokens alone: allowed[M, vocabulary], any in each row."""

    rows: IndexArray
    allowed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """Tokens known before each of the draws that have penalties.

    rows[P]: which draws. tokens[any, width]: ids by row; token_rows[P]: the row of each
    draw in it. num_prompt_tokens[P], num_tokens[P]: where its prompt and its tokens end.
    presence, frequency, repetition: penalties [P].
    """

    rows: IndexArray
    tokens: TokenArray
    token_rows: IndexArray
    num_prompt_tokens: IndexArray
    num_tokens: IndexArray
    presence: FloatArray
    frequency: FloatArray
    repetition: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleRows:
    """Parameters of R draws, as arrays [R] in the order of their logits.

    temperature: 0 is greedy. top_k: at least 1; larger than the vocabulary is off.
    seed, sequence_index, draw_index: name of the random number; draw_index counts the
        output tokens before this one.
    logprob_rows, num_logprobs: draws [L] to report log-probabilities of, and how many
        alternatives of each.
    biases: added to logits. banned: places set to minus infinity. masks: what grammars allow.
    history: penalties.
    """

    temperature: FloatArray
    top_k: IndexArray
    top_p: FloatArray
    min_p: FloatArray
    seed: IndexArray
    sequence_index: IndexArray
    draw_index: IndexArray
    logprob_rows: IndexArray
    num_logprobs: IndexArray
    biases: Entries | None = None
    banned: Entries | None = None
    masks: Masks | None = None
    history: History | None = None
