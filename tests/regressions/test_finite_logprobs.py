"""vllm#10234, sglang#5984: "out of range float" for tokens that were ruled out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from paged.engine import model_executor
from paged.sampling_params import SamplingParams
from tests.helpers.asked import COMPLETIONS, post
from tests.helpers.live_server import LiveServer
from tests.helpers.tiny_llm import check_empty, tiny_llm


def test_a_prompt_of_tokens_that_the_model_rules_out(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = model_executor.logprobs_of

    def with_ruled_out(logits: torch.Tensor, tokens: Any, num_top: Any) -> Any:
        logits = logits.clone()
        logits[:, 1:] = -torch.inf
        return real(logits, tokens, np.asarray(num_top))

    monkeypatch.setattr(model_executor, "logprobs_of", with_ruled_out)
    found = _logprobs(server)
    assert found["token_logprobs"][0] is None
    # Those of the prompt, then those of the output, which the model itself did not rule out.
    assert found["token_logprobs"][1:3] == [-9999.0, -9999.0]
    assert all(-9999.0 < value <= 0 for value in found["token_logprobs"][-2:])


def test_a_prompt_that_is_echoed_and_scored(server: LiveServer) -> None:
    found = _logprobs(server)
    assert all(isinstance(value, float) for value in found["token_logprobs"][1:])
    assert [len(each) for each in found["top_logprobs"][1:4]] >= [5] * 3


def _logprobs(server: LiveServer) -> dict[str, Any]:
    body = {"prompt": "abc", "echo": True, "logprobs": 5, "top_k": 1, "max_tokens": 2}
    answer = post(server, COMPLETIONS, {**body, "add_special_tokens": False})
    assert answer.status_code == 200

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(answer.text, parse_constant=refuse)["choices"][0]["logprobs"]


def test_tokens_that_the_request_rules_out() -> None:
    llm = tiny_llm()
    params = SamplingParams(
        top_k=1, logprobs=20, logit_bias={5: -100.0}, min_tokens=4, max_tokens=4, ignore_eos=False
    )
    (output,) = llm.generate("the quick brown fox", params)
    check_empty(llm)
    positions = output.outputs[0].logprobs
    assert positions is not None
    values = [each.logprob for place in positions for each in (place.token, *place.top)]
    assert len(values) == 4 * 21
    json.dumps(values, allow_nan=False)
