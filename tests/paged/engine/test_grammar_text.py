"""What is kept from llguidance because it would work on it for minutes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paged.engine.grammar_text import llguidance_text
from paged.errors import ConfigError
from paged.grammar import Grammar


def _integer(*multiples: str) -> Grammar:
    """Return a schema of numbers that are multiples of all of these, which are JSON."""
    members = ", ".join(f'{{"multipleOf": {each}}}' for each in multiples)
    return Grammar.json_schema(f'{{"type": "number", "allOf": [{members}]}}')


@pytest.mark.parametrize(
    "multiples",
    [
        ["1"],
        ["10000"],
        ["0.01"],
        ["0.01", "5"],
        ["0.25", "0.1"],
        ["1e2", "-7"],
        ["0"],
        ["true"],
        ["1e-400"],
    ],
)
def test_small_multiples_pass(multiples: list[str]) -> None:
    assert json.loads(llguidance_text(_integer(*multiples)))


@pytest.mark.parametrize(
    "multiples",
    [
        ["10001"],
        ["997", "991"],
        ["0.0001", "7"],
        ["1e5"],
        ["1e400"],
        ["1e999999999"],
        ["1e-300"],
        ["0.1234567890123"],
        ["9" * 400],
    ],
)
def test_large_common_multiples_are_refused(multiples: list[str]) -> None:
    with pytest.raises(ConfigError, match="multipleOf: expected numbers with a common multiple"):
        llguidance_text(_integer(*multiples))


def test_a_multiple_is_found_however_deep_and_however_it_is_spelled() -> None:
    value: Any = {"multipleOf": 99_991}
    for _ in range(40):
        value = {"anyOf": [{"properties": {"a": value}}]}
    text = json.dumps(value).replace("multipleOf", "multiple\\u004ff")
    with pytest.raises(ConfigError, match="multipleOf"):
        llguidance_text(Grammar.json_schema(text))


@pytest.mark.parametrize("name", ["json", "regex", "lark", "llguidance"])
def test_grammars_within_grammars_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^grammar\.lark: %{name} is not allowed"):
        llguidance_text(Grammar.lark(f"start: %{name} {{}}"))


def test_a_long_reason_is_shortened() -> None:
    with pytest.raises(ConfigError, match=r"^grammar\.json_schema: .{1,500}$"):
        llguidance_text(Grammar.json_schema("[" * 60_000))
