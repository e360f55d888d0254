"""SmolLM2-135M in float32 says what transformers says with the same weights, token for token."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paged.engine.llm import LLM
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason

pytestmark = pytest.mark.smollm2

GOLDEN: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("smollm2_greedy.json").read_text()
)
MADE_WITH, CASES = GOLDEN[0], GOLDEN[1:]
GREEDY = SamplingParams(temperature=0.0, max_tokens=64, ignore_eos=True)


@pytest.fixture(scope="module")
def llm(smollm2_path: Path) -> LLM:
    """Return the model, with room for all prompts at once."""
    return LLM(str(smollm2_path), dtype="float32", max_model_len=256, num_gpu_blocks_override=256)


def answers(llm: LLM, cases: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Return the greedy tokens of prompts."""
    outputs = llm.generate([case["prompt_ids"] for case in cases], GREEDY)
    return [output.outputs[0].tokens for output in outputs]


def check(got: Sequence[int], case: dict[str, Any]) -> None:
    """Fail at the first token that differs, and say how close the choice was."""
    for place, (ours, theirs) in enumerate(zip(got, case["tokens"], strict=True)):
        assert ours == theirs, (
            f"{case['prompt']!r:.60}: token {place} is {ours}, transformers says {theirs}, whose"
            f" logit leads by {case['leads'][place]}"
        )


def test_the_golden_file_is_of_this_model(smollm2_path: Path) -> None:
    digest = hashlib.sha256(smollm2_path.read_bytes()).hexdigest()
    assert digest == MADE_WITH["gguf_sha256"]
    assert len(CASES) == 20
    assert all(len(case["tokens"]) == 64 for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["prompt"][-40:]))
def test_prompts_are_encoded_as_transformers_does(case: dict[str, Any], llm: LLM) -> None:
    prompt = case["prompt"]
    if case["messages"] is not None:
        assert llm.tokenizer.apply_chat_template(case["messages"]) == prompt
    assert llm.tokenizer.encode(prompt, add_special_tokens=False) == case["prompt_ids"]


@pytest.mark.slow
def test_a_batch_says_what_transformers_says(llm: LLM) -> None:
    for got, case in zip(answers(llm, CASES), CASES, strict=True):
        check(got, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[1::12], ids=lambda case: repr(case["prompt"][-40:]))
def test_a_single_prompt_says_what_transformers_says(case: dict[str, Any], llm: LLM) -> None:
    (got,) = answers(llm, [case])
    check(got, case)


@pytest.mark.slow
def test_answers_end_where_transformers_would_end_them(llm: LLM) -> None:
    (end,) = llm.tokenizer.eos_ids
    ended = [case for case in CASES if end in case["tokens"]]
    assert ended
    params = SamplingParams(temperature=0.0, max_tokens=64)
    outputs = llm.generate([case["prompt_ids"] for case in ended], params)
    for output, case in zip(outputs, ended, strict=True):
        length = case["tokens"].index(end) + 1
        assert output.outputs[0].tokens == case["tokens"][:length]
        assert output.outputs[0].reason is FinishReason.STOP
        assert output.outputs[0].text == llm.tokenizer.decode(case["tokens"][:length])
