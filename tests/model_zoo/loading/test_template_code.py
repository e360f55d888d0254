"""Payments in the code of a template."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError

from model_zoo.loading import template_code
from model_zoo.loading.template_budget import STEP, Budget
from model_zoo.loading.template_code import metered
from model_zoo.loading.template_environment import TemplateEnvironment


def _tree(text: str) -> nodes.Template:
    sandbox = TemplateEnvironment(Budget())
    return metered(sandbox.parse(text), sandbox)


def _filters(text: str) -> list[str]:
    return [each.name for each in _tree(text).find_all(nodes.Filter)]


def _spent(text: str, **given: Any) -> int:
    budget = Budget()
    sandbox = TemplateEnvironment(budget)
    code = sandbox.compile(metered(sandbox.parse(text), sandbox))
    Template.from_code(sandbox, code, sandbox.make_globals(None)).render(given)
    return budget.spent


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("{{ a ~ 'b' }}", ["%text"]),
        ("{{ a == 'b' }}", ["%weigh"]),
        ("{{ a == '" + "b" * 65 + "' }}", ["%weigh", "%weigh"]),
        ("{{ a in b }}", ["%needle", "%haystack"]),
        ("{{ a < b in c }}", ["%weigh", "%needle", "%haystack"]),
        ("{{ {a: b, 'c': d} }}", ["%weigh"]),
        ("{{ a[1:] }}", ["%made"]),
        ("{{ a[1] }}", []),
        ("{% if a %}{% endif %}", []),
        ("{% for a in b %}{% endfor %}", ["%pay"]),
        ("{% for a in b if a %}{% endfor %}", ["%pay"]),
        ("{% macro f() %}{% endmacro %}", ["%pay"]),
        ("{% block b %}{% endblock %}", ["%pay"]),
        ("{% call f() %}{% endcall %}", ["%pay"]),
    ],
)
def test_what_jinja_does_by_itself_passes_a_filter(text: str, filters: list[str]) -> None:
    assert _filters(text) == filters


def test_each_turn_pays_for_the_nodes_of_its_body() -> None:
    text = "{% for i in r %}{% set x = i %}{% for j in s %}{% set y = j %}{% endfor %}{% endfor %}"
    inner = STEP * (1 + 3)
    # A node of `set` and its two names; the loop in it, its target and its list.
    outer = STEP * (1 + 3 + 3)
    assert _spent(text, r=[0] * 5, s=[]) - _spent(text, r=[0] * 4, s=[]) == outer
    assert _spent(text, r=[0], s=[0] * 3) - _spent(text, r=[0], s=[0] * 2) == inner


def test_items_that_a_loop_leaves_out_are_paid() -> None:
    text = "{% for i in r if false %}{% endfor %}"
    assert _spent(text, r=[0] * 9) - _spent(text, r=[0] * 4) == 5 * 2 * STEP


def test_what_could_not_be_paid_is_refused() -> None:
    with pytest.raises(SecurityError, match="autoescape"):
        _tree("{% autoescape true %}{% endautoescape %}")
    for text in ("{{ f(*a) }}", "{{ f(**a) }}", "{{ a|f(*b) }}", "{{ a is f(*b) }}"):
        with pytest.raises(SecurityError, match="spreads"):
            _tree(text)


def test_templates_cannot_write_the_names_of_payments() -> None:
    names = (template_code.PAY, template_code.WEIGH, template_code.TEXT, template_code.MADE)
    assert all(not name.isidentifier() for name in names)
