"""Hostile templates end within their budget; templates of published models render as ever."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError
from jinja2.exceptions import SecurityError
from transformers.utils.chat_template_utils import render_jinja_template

from model_zoo.loading import template_budget
from model_zoo.loading.sandboxed_template import SandboxedTemplate
from model_zoo.loading.template_budget import STEP, Budget
from tests.helpers.hostile_templates import REFUSED, TOO_MUCH_WORK

UNITS = 2**18
_REFUSALS = (TemplateError, SyntaxError, RecursionError, OverflowError, ValueError)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a fraction of the work, which takes that fraction of the time."""
    monkeypatch.setattr(template_budget, "UNITS", UNITS)


@pytest.fixture
def traced() -> Iterator[None]:
    """Count the memory that Python allocates."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("small_budget", "traced")
@pytest.mark.parametrize("text", TOO_MUCH_WORK)
def test_the_budget_ends_what_would_take_all_time_or_memory(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_payments = itertools.count()
    spend = Budget.spend

    def counted(budget: Budget, units: int) -> bool:
        next(num_payments)
        return spend(budget, units)

    monkeypatch.setattr(Budget, "spend", counted)
    template = SandboxedTemplate(text)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    with pytest.raises(SecurityError, match=r"takes more work than .*send less, or name another"):
        template.render({})
    # A unit stands for four bytes; what is made is there beside what it is made of.
    assert tracemalloc.get_traced_memory()[1] - before < 8 * UNITS
    # And for a nanosecond: what takes hundreds in Python may not cost a few.
    assert next(num_payments) < UNITS / STEP


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_what_no_chat_template_needs_is_refused_before_it_is_done(text: str, why: str) -> None:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    with pytest.raises(_REFUSALS, match=why):
        SandboxedTemplate(text).render({})
    assert tracemalloc.get_traced_memory()[1] - before < 2**25


MESSAGES = [
    {"role": "system", "content": " be brief "},
    {"role": "user", "content": "hi <b>\n\u4e16 'x'\n"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nyes", "tool_calls": None},
]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "does\nf",
            "parameters": {
                "type": "object",
                "properties": {"b": {"type": "string"}, "a": {"type": ["integer", "null"]}},
                "required": ["a"],
            },
        },
    }
]
FEATURES = (Path(__file__).parents[2] / "golden/chat_features.jinja").read_text().split("\n=====\n")
"""What templates of Llama, Qwen, Mistral, SmolLM2, Gemma, DeepSeek, Phi and Command R use."""


@pytest.mark.parametrize("text", FEATURES)
def test_what_published_templates_use_renders_as_in_transformers(text: str) -> None:
    theirs: Any = render_jinja_template([MESSAGES], tools=TOOLS, chat_template=text)
    given = {"messages": MESSAGES, "tools": TOOLS}
    assert SandboxedTemplate(text).render(given) == theirs[0][0]


def test_each_rendering_has_a_budget_of_its_own() -> None:
    template = SandboxedTemplate("{% for m in messages %}{{ m.content|trim }}{% endfor %}")
    chat = {"messages": [{"content": "a" * 1000}] * 1000}
    texts = [template.render(chat) for _ in range(3)]
    assert texts == ["a" * 10**6] * 3
    # Read, trimmed and written.
    assert 3 * 10**6 < template.spent < 6 * 10**6


def test_a_long_chat_costs_a_part_of_the_budget() -> None:
    text = (
        "{% for m in messages %}{% if m.role in ['user', 'assistant'] and m.content is string %}"
        "{% if '</think>' in m.content %}{% set c = m.content.split('</think>')[-1] %}{% else %}"
        "{% set c = m.content %}{% endif %}{{ '<' + m.role + '>' + c|trim ~ '</s>' }}"
        "{% else %}{{ raise_exception('roles') }}{% endif %}{% endfor %}"
    )
    template = SandboxedTemplate(text)
    template.render({"messages": [{"role": "user", "content": "word " * 200}] * 2000})
    assert template.spent < template_budget.UNITS / 3


def test_renderings_of_threads_take_turns() -> None:
    template = SandboxedTemplate("{% for i in range(n) %}{{ i % 10 }}{% endfor %}")

    def render(length: int) -> str:
        return template.render({"n": length})

    lengths = [1, 1000, 20, 3000] * 5
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(render, lengths))
    assert [len(text) for text in texts] == lengths


def test_a_refusal_ends_one_rendering() -> None:
    template = SandboxedTemplate("{{ 'x' * n }}")
    with pytest.raises(SecurityError):
        template.render({"n": 10**10})
    assert template.render({"n": 3}) == "xxx"
