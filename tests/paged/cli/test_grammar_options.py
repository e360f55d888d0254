"""Flags of grammars: one of them, a schema in a file or as it is."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from paged.cli.grammar_options import add_grammar_options, chosen_grammar
from paged.errors import ConfigError
from paged.grammar import Grammar

SCHEMA = '{"type": "integer"}'


def _grammar(*given: str) -> Grammar | None:
    parser = ArgumentParser()
    add_grammar_options(parser)
    return chosen_grammar(parser.parse_args(given))


def test_each_flag_makes_its_grammar(tmp_path: Path) -> None:
    assert _grammar() is None
    assert _grammar("--regex", "a+") == Grammar.regex("a+")
    assert _grammar("--choice", "a", "--choice", "b") == Grammar.choice(["a", "b"])
    file = tmp_path / "schema.json"
    file.write_text(SCHEMA)
    for given in (SCHEMA, f"\n {SCHEMA}", str(file)):
        grammar = _grammar("--json-schema", given)
        assert grammar is not None
        assert (grammar.kind, grammar.text.strip()) == (Grammar.json_schema(SCHEMA).kind, SCHEMA)


def test_two_of_them_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _grammar("--regex", "a", "--choice", "b")
    assert "not allowed with argument --regex" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "schema.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"^--json-schema: expected a schema, .*schema\.json"):
        _grammar("--json-schema", str(file))
