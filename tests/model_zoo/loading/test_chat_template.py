"""Chat templates: what they see, and what becomes of their failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from model_zoo.loading.chat_template import ChatTemplate, read_chat_template
from model_zoo.loading.tokenizer import Message
from paged.errors import ConfigError, ModelFileError, RequestRefused

HI = [{"role": "user", "content": "hi"}]


def render(text: str, messages: Sequence[Message] = HI, **variables: Any) -> str:
    """Return a chat in some template."""
    template = ChatTemplate(text, source="some model", special_tokens={"bos_token": "<s>"})
    return template.render(messages, add_generation_prompt=True, variables=variables)


def test_templates_see_messages_tokens_and_variables() -> None:
    text = "{{ bos_token }}{{ messages[0].content }}{{ add_generation_prompt }}{{ mood }}"
    assert render(text, mood="fine") == "<s>hiTruefine"


def test_tools_and_documents_are_none_unless_they_are_given() -> None:
    text = "{{ tools is none }}{{ documents is none }}"
    assert render(text) == "TrueTrue"
    assert render(text, tools=[{"name": "t"}]) == "FalseTrue"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[0].content + 1 }}", "refuses these messages"),
        ("{{ messages[9].content }}", "has no element 9"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ messages.append(1) }}", "refuses these messages"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages[0].items.__self__.clear() }}", "refuses these messages"),
        ("{% for i in range(999999999) %}x{% endfor %}", "refuses these messages"),
    ],
)
def test_a_template_that_fails_refuses_the_request(text: str, message: str) -> None:
    with pytest.raises(RequestRefused, match=f"some model .*{message}"):
        render(text)


@pytest.mark.parametrize(
    "text", ["{% if %}", "{{ a", "{% unknown %}", "{% for x in %}", "{{ 1|center }}"]
)
def test_a_malformed_template_refuses_every_chat(text: str) -> None:
    with pytest.raises(
        RequestRefused, match=r"some model: the chat template is malformed: .*; name another with"
    ):
        render(text)


def test_messages_are_copied_as_plain_data() -> None:
    class Trap(dict[str, object]):
        def items(self) -> Any:
            return super().items()

    assert render("{{ messages[0].role }}", [Trap(role="user")]) == "user"
    with pytest.raises(RequestRefused, match="plain JSON data"):
        render("{{ messages }}", [{"content": object()}])
    nested: list[object] = []
    nested.append(nested)
    with pytest.raises(RequestRefused, match="plain JSON data"):
        render("{{ messages }}", [{"content": nested}])


def test_a_user_names_a_template_by_its_file_or_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jinja"
    path.write_text("{{ messages[0].content }}!", encoding="utf-8")
    assert read_chat_template(str(path)) == "{{ messages[0].content }}!"
    assert read_chat_template("{% if true %}a{% endif %}") == "{% if true %}a{% endif %}"


def test_a_template_that_is_no_good_is_refused_when_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a file of a Jinja template.* got 'a\.jinja'"):
        read_chat_template("a.jinja")
    path = tmp_path / "a.jinja"
    path.write_bytes(b"\xff{{")
    with pytest.raises(ConfigError, match=r"cannot read .*a\.jinja"):
        read_chat_template(str(path))
    path.write_text("{% if %}", encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"a\.jinja: the chat template is malformed"):
        read_chat_template(str(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "maximum recursion depth"),
        ("{{ '\\ud800' }}", "surrogates not allowed"),
        ("{% for m in messages * 10 ** 9 %}{% endfor %}", "more work than making"),
    ],
)
def test_a_template_that_fails_by_itself_refuses_the_chat(text: str, why: str) -> None:
    with pytest.raises(RequestRefused, match=why):
        render(text, [{"role": "user", "content": "x"}])
