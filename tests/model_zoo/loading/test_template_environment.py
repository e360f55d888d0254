"""The environment of chat templates: what it knows, and that each use of it is paid."""

from __future__ import annotations

import pytest
from jinja2.exceptions import SecurityError

from model_zoo.loading.template_budget import CALL, STEP, Budget
from model_zoo.loading.template_environment import MAX_DATE_CHARACTERS, TemplateEnvironment


def _rendered(text: str, **given: object) -> tuple[str, int]:
    """Return a template's text, and what it cost but for the payments of its code."""
    budget = Budget()
    return TemplateEnvironment(budget).from_string(text).render(given), budget.spent


def test_a_template_may_write_the_date() -> None:
    text, _ = _rendered("{{ strftime_now('%Y') }}")
    assert text.isdigit()
    assert int(text) > 2000
    with pytest.raises(SecurityError, match="more than 256 characters"):
        _rendered("{{ strftime_now(f) }}", f="%Y" * MAX_DATE_CHARACTERS)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("{{ x|length }}", CALL),
        ("{{ x|trim|length }}", 2 * CALL + 3000),
        ("{{ x.upper()|length }}", STEP + 2 * CALL + 3000),
        ("{{ [x]|tojson|length }}", 2 * CALL + 12_000),
        ("{{ (x + x)|length }}", CALL + 2000),
        ("{{ ('%s' % x)|length }}", CALL + 1000),
        ("{{ x is string }}", CALL),
        ("{{ x is eq x }}", CALL + 2000),
        ("{{ x[0] }}", STEP),
        ("{{ [x] }}", 10_000),
        ("{% macro f(x) %}{% endmacro %}{{ f(x) }}", CALL),
        ("{% macro f(x) %}{{ x }}{% endmacro %}{{ f(x)|length }}", 2 * CALL + 1000),
        ("{% for i in x|list %}{% endfor %}", CALL + 24_000),
    ],
)
def test_each_use_is_paid(text: str, units: int) -> None:
    _, spent = _rendered(text, x="b" * 1000)
    # References, numbers and what is written come on top.
    assert units <= spent < 1.1 * units + 1000


def test_the_text_of_a_namespace_does_not_tell_what_it_holds() -> None:
    text = "{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}{{ [ns] }}{{ ns.a.a == ns }}"
    assert _rendered(text)[0] == "<Namespace>[<Namespace>]True"


def test_nothing_is_computed_as_a_template_compiles() -> None:
    budget = Budget()
    TemplateEnvironment(budget).compile(
        "{{ 'x' * 9 }}{{ 'x'|upper }}{% if 'a'.split() %}{% endif %}"
    )
    assert budget.spent == 0
