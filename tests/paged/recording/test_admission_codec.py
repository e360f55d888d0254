"""Admitted requests as columns and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.recording.admission_codec import put_admitted, take_admitted
from paged.recording.columns import ColumnReader, ColumnWriter
from paged.scheduler.batch import Admitted
from paged.scheduler.request import Request, length_only_prompt

PROMPTS = {"known": np.array([7, 0, 50_000], np.int32), "length only": length_only_prompt(9)}


@pytest.mark.parametrize("final", [None, 0, 5])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_it_comes_back(prompt: str, final: int | None) -> None:
    options: dict[str, Any] = {"arrival_s": 0.5, "priority": -3, "num_sequences": 2}
    request = Request(
        request_id="r",
        prompt_tokens=PROMPTS[prompt],
        max_new_tokens=8,
        final_new_tokens=final,
        **options,
    )
    writer = ColumnWriter()
    put_admitted(
        writer,
        Admitted(
            request=request,
            rows=np.array([3, 1]),
            sequence_indices=(0, 1),
            num_cached_tokens=2,
            is_resumed=True,
        ),
    )
    admitted = take_admitted(ColumnReader(writer.encode()))
    got = admitted.request
    assert got.prompt_tokens.tolist() == PROMPTS[prompt].tolist()
    assert got.prompt_tokens.dtype == np.int32
    assert (got.request_id, got.max_new_tokens, got.final_new_tokens) == ("r", 8, final)
    assert {name: getattr(got, name) for name in options} == options
    assert (admitted.rows.tolist(), admitted.sequence_indices) == ([3, 1], (0, 1))
    assert (admitted.num_cached_tokens, admitted.is_resumed) == (2, True)


def test_a_prompt_of_zeros_takes_no_memory_when_it_is_read() -> None:
    request = Request(request_id="r", prompt_tokens=length_only_prompt(10**6), max_new_tokens=1)
    writer = ColumnWriter()
    put_admitted(
        writer,
        Admitted(
            request=request,
            rows=np.array([0]),
            sequence_indices=(0,),
            num_cached_tokens=0,
            is_resumed=False,
        ),
    )
    data = writer.encode()
    assert len(data) < 500
    assert take_admitted(ColumnReader(data)).request.prompt_tokens.strides == (0,)
