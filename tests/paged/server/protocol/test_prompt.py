"""The forms of a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from paged.server.protocol.error import ApiError
from paged.server.protocol.prompt import prompts_of


@pytest.mark.parametrize(
    ("value", "prompts"),
    [
        ("a", ["a"]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [[1, 2]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (["a", [1]], ["a", [1]]),
    ],
)
def test_every_form_is_a_list_of_prompts(value: Any, prompts: list[Any]) -> None:
    assert prompts_of(value) == prompts


@pytest.mark.parametrize(
    "value", [None, "", [], [""], [[]], [[1], []], [1, "a"], [True], [1.0], [[True]], {}, 5, [None]]
)
def test_others_are_refused_by_name(value: Any) -> None:
    with pytest.raises(ApiError, match="prompt: expected a text") as caught:
        prompts_of(value)
    assert (caught.value.status, caught.value.param) == (400, "prompt")
