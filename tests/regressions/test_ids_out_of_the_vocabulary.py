"""vllm#16529, #6866, sglang#7670: the engine crashed of ids that are no token's."""

from __future__ import annotations

from typing import Any

import pytest

from paged.errors import ConfigError
from paged.sampling_params import SamplingParams
from tests.helpers.asked import COMPLETIONS, refused
from tests.helpers.live_server import LiveServer
from tests.helpers.tiny_llm import tiny_llm


@pytest.mark.parametrize(
    "biases", [{"999999999": 1}, {"-1": 1}, {"abc": 1}, {"1.5": 1}, {"5": 101}]
)
def test_a_bias_of_no_token(server: LiveServer, biases: Any) -> None:
    body = {"prompt": "a", "logit_bias": biases}
    assert refused(server, COMPLETIONS, body)["param"] == "logit_bias"


@pytest.mark.parametrize("ids", [[10**6], [-1], [2**31], [2**63], [10**30]])
def test_a_prompt_of_no_tokens(server: LiveServer, ids: list[int]) -> None:
    refused(server, COMPLETIONS, {"prompt": ids})
    refused(server, "/detokenize", {"tokens": ids})


@pytest.mark.parametrize("biases", [{999999999: 1.0}, {-1: 1.0}, {"abc": 1.0}])
def test_the_library_refuses_such_a_bias(biases: dict[int, float]) -> None:
    llm = tiny_llm()
    with pytest.raises(ConfigError, match=r"^logit_bias: "):
        llm.generate("the quick brown fox", SamplingParams(logit_bias=biases))
    assert llm.generate("the quick brown fox")[0].outputs[0].tokens
