"""What an output must look like, on a command line: the flags of `Grammar`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paged.errors import ConfigError
from paged.grammar import Grammar


def add_grammar_options(parser: ArgumentParser) -> None:
    """Declare the flags, of which a command line has one."""
    group = parser.add_argument_group("grammar", "what an output must look like: one of these")
    grammars = group.add_mutually_exclusive_group()
    grammars.add_argument(
        "--regex", metavar="PATTERN", help="a match of this whole expression (default: any text)"
    )
    grammars.add_argument(
        "--choice",
        action="append",
        metavar="TEXT",
        help="one of these texts; is repeated (default: any text)",
    )
    grammars.add_argument(
        "--json-schema",
        metavar="SCHEMA",
        help="JSON that this schema validates: a file, or the schema itself (default: any text)",
    )


def chosen_grammar(arguments: Namespace) -> Grammar | None:
    """Return the grammar that the flags name. Raises ConfigError."""
    if arguments.regex is not None:
        return Grammar.regex(arguments.regex)
    if arguments.choice is not None:
        return Grammar.choice(arguments.choice)
    if arguments.json_schema is not None:
        return Grammar.json_schema(_schema(arguments.json_schema))
    return None


def _schema(text: str) -> str:
    """Return the JSON of a schema, read from the file that the text names where it is none."""
    if text.lstrip().startswith("{"):
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--json-schema: expected a schema, which begins with {{, or a file that holds one;"
            f" cannot read {text!r:.200}: {error}"
        ) from error
