"""Requests refuse what makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.errors import ConfigError
from paged.scheduler.request import Request, length_only_prompt


def _make(**values: Any) -> Request:
    prompt = np.array([1, 2, 3], np.int32)
    return Request(**({"request_id": "a", "prompt_tokens": prompt, "max_new_tokens": 1} | values))


def test_the_prompt_counts_its_tokens() -> None:
    assert _make().num_prompt_tokens == 3


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1, got 0"),
        ({"num_sequences": -1}, "num_sequences must be at least 1, got -1"),
        ({"prompt_tokens": np.zeros(0, np.int32)}, r"at least one token, got shape \(0,\)"),
        ({"prompt_tokens": np.zeros((2, 3), np.int32)}, r"one-dimensional .* got shape \(2, 3\)"),
    ],
)
def test_a_request_names_what_is_wrong(values: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        _make(**values)


def test_a_prompt_of_lengths_only_takes_no_memory() -> None:
    prompt = length_only_prompt(10**12)
    assert len(prompt) == 10**12
    assert prompt.strides == (0,)
    assert prompt[-1] == 0
