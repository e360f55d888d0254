"""What is special of completions."""

from __future__ import annotations

from typing import Any

import pytest

from paged.server.protocol.completion import CompletionRequest
from paged.server.protocol.error import ApiError


def _body(**fields: Any) -> CompletionRequest:
    return CompletionRequest(prompt="a", **fields)


def test_the_limit_is_sixteen_or_what_is_said() -> None:
    assert _body().params().max_tokens == 16
    assert _body(max_tokens=5).params().max_tokens == 5


def test_the_prompt_alone_draws_one_token_that_nobody_sees() -> None:
    body = _body(echo=True, max_tokens=0)
    assert body.has_no_output
    assert body.params().max_tokens == 1
    assert not _body(echo=True).has_no_output
    assert not _body(echo=False, max_tokens=0).has_no_output


def test_echo_scores_the_prompt_as_well() -> None:
    assert _body(logprobs=2).params().prompt_logprobs is None
    assert _body(echo=True, logprobs=2).params().prompt_logprobs == 2
    assert _body(echo=True, logprobs=2, prompt_logprobs=4).params().prompt_logprobs == 4
    assert _body(echo=True).params().prompt_logprobs is None


@pytest.mark.parametrize(
    ("body", "param"), [({"suffix": "x"}, "suffix"), ({"best_of": 3}, "best_of")]
)
def test_what_is_not_served_is_refused(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        _body(**body).check_fields()
    assert caught.value.param == param
    _body(best_of=2, n=2, suffix="").check_fields()
