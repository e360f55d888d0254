"""Jinja behaves as in transformers: the same templates give the same texts."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2.exceptions import SecurityError
from transformers.utils.chat_template_utils import render_jinja_template

from model_zoo.loading.template_environment import compiled, rendered

TEMPLATES = (
    "{% for m in messages %}\n  {% if loop.first %}\n<{{ m.role }}>\n  {% endif %}\n{% endfor %}\n",
    "{{ messages | tojson }}{{ messages[0] | tojson(indent=2) }}",
    "{{ {'ä': '<&>', 'n': None} | tojson }}{{ {'b': 1, 'a': 2} | tojson(sort_keys=True) }}",
    "{% for m in messages %}{% if m.role == 'b' %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
    "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}{% endfor %}",
    "{% generation %}{{ messages[1].content }}{% set x = 1 %}\n{% endgeneration %}after",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = 2 %}{% endfor %}{{ ns.n }}",
    "{{ 'a b'.split(' ') | join('-') | upper }}{{ messages | length }}{{ (1, 2)[::-1] }}",
    "{%- macro f(x) %}[{{ x | trim }}]{% endmacro -%}{{ f(' y ') }}",
)
MESSAGES = [{"role": "a", "content": " ü "}, {"role": "b", "content": "x"}]


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_render_as_in_transformers(template: str) -> None:
    theirs: Any = render_jinja_template([MESSAGES], chat_template=template)
    ours = rendered(compiled(template), {"messages": MESSAGES})
    assert ours == theirs[0][0]


def test_a_template_may_write_the_date() -> None:
    text = rendered(compiled("{{ strftime_now('%Y') }}"), {})
    assert text.isdigit()
    assert int(text) > 2000


_TWICE = "{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}"
_GROWING = "{% set ns = namespace(s='x', n=9) %}{% for i in range(60) %}BODY{% endfor %}"


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}" + _TWICE + "{% endmacro %}{{ f(40) }}",
        _GROWING.replace("BODY", "{% set ns.s = ns.s ~ ns.s %}"),
        _GROWING.replace("BODY", "{% set ns.s = ns.s + ns.s %}"),
        _GROWING.replace("BODY", "{% set ns.n = ns.n * ns.n %}"),
        "{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
        "{{ 'x' * 10 ** 10 }}",
        "{{ [1] * 10 ** 10 }}",
        "{{ 7 ** (7 ** 9) }}",
    ],
)
def test_what_would_go_on_for_ever_or_take_all_memory_is_ended(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model_zoo.loading.template_environment.MAX_STEPS", 50_000)
    with pytest.raises(SecurityError, match=r"takes more than|has more than"):
        rendered(compiled(template), {})
