"""Jinja behaves as in transformers: the same templates give the same texts."""

from __future__ import annotations

from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from model_zoo.loading.template_environment import environment

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
    ours = environment().from_string(template).render(messages=MESSAGES)
    assert ours == theirs[0][0]


def test_a_template_may_write_the_date() -> None:
    text = environment().from_string("{{ strftime_now('%Y') }}").render()
    assert text.isdigit()
    assert int(text) > 2000
