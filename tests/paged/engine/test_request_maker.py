"""Prompts become requests, or say why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_zoo.loading.byte_tokenizer import ByteTokenizer
from paged.engine.request_maker import RequestMaker
from paged.errors import ConfigError, RequestRefused
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.request import Request


@pytest.fixture
def maker() -> RequestMaker:
    return RequestMaker(ByteTokenizer(), vocab_size=258, max_model_len=20, seed=5)


def _make(maker: RequestMaker, prompt: Any = "hi", **sampling: Any) -> Request:
    return maker.make(prompt, SamplingParams(**sampling), arrival_s=1.5, priority=2)


def test_a_text_is_tokenized(maker: RequestMaker) -> None:
    request = _make(maker, max_tokens=7, n=3)
    assert request.prompt_tokens.tolist() == [256, 104, 105]
    assert request.prompt_tokens.dtype == np.int32
    assert (request.max_new_tokens, request.num_sequences) == (7, 3)
    assert (request.arrival_s, request.priority) == (1.5, 2)


def test_a_chat_template_writes_its_own_special_tokens(maker: RequestMaker) -> None:
    request = maker.make("hi", SamplingParams(), arrival_s=0.0, add_special_tokens=False)
    assert request.prompt_tokens.tolist() == [104, 105]


@pytest.mark.parametrize("prompt", [[3, 257], (3, 257), np.array([3, 257])])
def test_ids_are_taken_as_they_are(maker: RequestMaker, prompt: Any) -> None:
    assert _make(maker, prompt).prompt_tokens.tolist() == [3, 257]


@pytest.mark.parametrize("max_tokens", [None, 17, 2**31, 10**30])
def test_outputs_are_clipped_to_the_context(maker: RequestMaker, max_tokens: int | None) -> None:
    assert _make(maker, max_tokens=max_tokens).max_new_tokens == 17


def test_a_search_runs_all_its_beams(maker: RequestMaker) -> None:
    assert _make(maker, beam=BeamParams(width=4), n=2).num_sequences == 4


def test_ids_count_up_and_can_be_chosen(maker: RequestMaker) -> None:
    assert [_make(maker).request_id for _ in range(3)] == ["0", "1", "2"]
    request = maker.make("a", SamplingParams(), arrival_s=0.0, request_id="mine")
    assert request.request_id == "mine"


def test_seeds_follow_from_the_engine_and_the_number_of_the_request() -> None:
    def seeds(seed: int) -> list[int | None]:
        maker = RequestMaker(ByteTokenizer(), vocab_size=258, max_model_len=20, seed=seed)
        made = [_make(maker) for _ in range(3)]
        return [request.sampling.seed for request in made if request.sampling is not None]

    assert seeds(5) == seeds(5)
    assert len(set(seeds(5) + seeds(6))) == 6
    assert None not in seeds(5)


def test_a_seed_that_is_given_stays(maker: RequestMaker) -> None:
    request = _make(maker, seed=-7)
    assert request.sampling is not None
    assert request.sampling.seed == -7


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "the prompt has no tokens"),
        (np.zeros(0, np.int64), "the prompt has no tokens"),
        ([1, 258], r"token ids from 0 to 257, got \[1, 258\]"),
        ([-1], "token ids from 0 to 257"),
        ([2**70], "token ids from 0 to 257"),
        ([1.5], "token ids from 0 to 257"),
        ([True], "token ids from 0 to 257"),
        (["a", "b"], "token ids from 0 to 257"),
        ([[1], [2]], "token ids from 0 to 257"),
        ([[1], [2, 3]], "expected a text or token ids"),
        ("x" * 19, "prompt of 20 tokens leaves no room for output: max_model_len is 20"),
        ("\ud800", "UTF-8"),
    ],
)
def test_prompts_that_cannot_run_are_refused(
    maker: RequestMaker, prompt: Any, message: str
) -> None:
    with pytest.raises(RequestRefused, match=message):
        _make(maker, prompt)


def test_parameters_that_name_unknown_tokens_are_refused(maker: RequestMaker) -> None:
    with pytest.raises(ConfigError, match="logit_bias: expected token ids below 258"):
        _make(maker, logit_bias={258: 1.0})
    assert _make(maker).request_id == "0"
