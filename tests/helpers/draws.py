"""Draws of a table: one call with the parameters, seeds and texts of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paged.engine.sample_rows import SampleRows
from paged.engine.sampling_table import SamplingTable
from paged.sampling_params import SamplingParams


def rows_of(
    params: Sequence[SamplingParams],
    *,
    seeds: Sequence[int] | None = None,
    prompts: Sequence[list[int]] | None = None,
    outputs: Sequence[list[int]] | None = None,
    eos_ids: Sequence[int] = (),
) -> SampleRows:
    """Rows for one draw each; row i has seed i, prompt [0] and no output unless told otherwise."""
    count = len(params)
    seeds = range(count) if seeds is None else seeds
    prompts = [[0]] * count if prompts is None else prompts
    outputs = [[]] * count if outputs is None else outputs
    texts = [prompt + output for prompt, output in zip(prompts, outputs, strict=True)]
    tokens = np.zeros((count, max(map(len, texts))), np.int32)
    table = SamplingTable(count)
    for row, each in enumerate(params):
        tokens[row, : len(texts[row])] = texts[row]
        table.admit(
            np.array([row]),
            [0],
            each,
            seed=seeds[row],
            num_prompt_tokens=len(prompts[row]),
            eos_ids=eos_ids,
        )
    return table.select(
        np.arange(count),
        tokens=tokens,
        token_rows=np.arange(count),
        num_tokens=np.array([len(text) for text in texts]),
    )
