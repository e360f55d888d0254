"""Section 1c of the contract: values at and past the ends of their ranges, of every field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.asked import COMPLETIONS, post, refused
from tests.helpers.live_server import LiveServer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("temperature", value)
            for value in (-1, float("nan"), "inf", 2.0001, float("inf"), True)
        ),
        *(("top_p", value) for value in (0, 1.0001, -0.1)),
        *(("top_k", value) for value in (-2, 1.5, 2**40)),
        *(("min_p", value) for value in (-0.1, 1.1)),
        *(("presence_penalty", value) for value in (-2.1, 2.1)),
        *(("frequency_penalty", value) for value in (-2.1, 2.1)),
        *(("repetition_penalty", value) for value in (0, -1, float("nan"))),
        *(("max_tokens", value) for value in (0, -1, 1.5, "5", True)),
        *(("min_tokens", value) for value in (-1, 17)),
        *(("logprobs", value) for value in (-1, 21, True)),
        *(("prompt_logprobs", value) for value in (-1, 21)),
        *(("seed", value) for value in (2**63, -(2**63) - 1, 1.5, "1")),
        *(("stop", value) for value in ("", [""], ["a"] * 1000, [5], 5, ["x" * 1000])),
        *(("stop_token_ids", value) for value in ([-1], [10**6], ["a"], 5)),
        *(("stream", value) for value in ("yes", 1, "true")),
        *(("echo", value) for value in ("yes", 1)),
        ("stream_options", {"include_usage": True}),
        ("truncate_prompt_tokens", 0),
        ("length_penalty", 1.0),
        ("best_of", 2),
        ("suffix", "x"),
        ("user", 5),
        ("request_id", "x" * 1000),
        ("priority", "high"),
        ("bad_words", ["x"]),
        ("allowed_token_ids", [1]),
        ("spaces_between_special_tokens", False),
        ("response_format", {"type": "sound"}),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(server: LiveServer, name: str, value: Any) -> None:
    error = refused(server, COMPLETIONS, {"prompt": "a", name: value})
    assert error["param"] == name or (error["param"] is None and name in error["message"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 1e-9),
        *(("top_k", value) for value in (-1, 0, 300)),
        ("stop", []),
        ("stop", None),
        *(("seed", value) for value in (-1, None, 2**63 - 1)),
        ("stream_options", None),
        ("logit_bias", None),
        ("logit_bias", {}),
        ("n", None),
        ("user", "me"),
        ("a_field_that_nobody_knows", {"x": 1}),
        ("response_format", {"type": "text"}),
        ("best_of", 1),
    ],
)
def test_a_value_at_the_edge_is_accepted(server: LiveServer, name: str, value: Any) -> None:
    body = {"prompt": "a", "max_tokens": 2, name: value}
    answer = post(server, COMPLETIONS, body)
    assert answer.status_code == 200, answer.text
