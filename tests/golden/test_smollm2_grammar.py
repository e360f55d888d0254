"""A real model and its vocabulary of 49,152 tokens under grammars."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from paged.engine.llm import LLM
from paged.grammar import Grammar
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason

pytestmark = pytest.mark.smollm2

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "people": {"type": "integer", "minimum": 1, "maximum": 40_000_000},
    },
    "required": ["city", "people"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "Name a large city in France, and how many live there."}]


@pytest.fixture(scope="module")
def llm(smollm2_path: Path) -> LLM:
    return LLM(str(smollm2_path), max_model_len=256, num_gpu_blocks_override=128)


def test_answers_are_what_was_asked_for_whatever_the_temperature(llm: LLM) -> None:
    grammars = [
        Grammar.json_schema(CITY),
        Grammar.choice(["Lyon", "Paris", "Marseille"]),
        Grammar.regex("(é|è|漢|👩‍👧){3}\\."),
    ]
    params = [
        SamplingParams(grammar=grammar, temperature=temperature, max_tokens=64, seed=3)
        for grammar in grammars
        for temperature in (0.0, 1.5)
    ]
    outputs = [each.outputs[0] for each in llm.chat([QUESTION] * len(params), params)]
    assert [each.reason for each in outputs] == [FinishReason.STOP] * len(params)
    for output in outputs[:2]:
        value = json.loads(output.text)
        assert (set(value), len(value["city"]) <= 12) == ({"city", "people"}, True)
    assert {each.text for each in outputs[2:4]} <= {"Lyon", "Paris", "Marseille"}
    assert all(re.fullmatch("(é|è|漢|👩‍👧){3}\\.", each.text) for each in outputs[4:])


def test_what_a_grammar_leaves_open_is_what_the_model_says(llm: LLM) -> None:
    """One that allows everything changes nothing."""
    plain = SamplingParams(temperature=0.0, max_tokens=12)
    free = SamplingParams(temperature=0.0, max_tokens=12, grammar=Grammar.regex("(.|\n)*"))
    first, second = llm.chat([QUESTION] * 2, [plain, free])
    assert first.outputs[0].tokens == second.outputs[0].tokens
