"""The reference page of `paged serve`: every flag, every endpoint, every field of a request.

It is made of the parser and of the OpenAPI schema:

    python -m paged.cli.serve_reference > docs/serve_reference.md
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Iterator

from paged.cli.serve import ACTION
from paged.kernel.page import table
from paged.server.reference_page import endpoint_sections

_GROUP = re.compile(r"^(\S.*):$")
_FLAG = re.compile(r"^  (\S.*?)(?:   *(\S.*))?$")
_DEFAULT = re.compile(r"\(default: ((?:[^()]|\([^()]*\))*)\)")


def serve_reference() -> str:
    """Return the page in Markdown."""
    return "\n".join(_sections()) + "\n"


def _sections() -> Iterator[str]:
    yield "# Reference of paged serve\n"
    yield (
        "Made of the parser and of the OpenAPI schema by `python -m paged.cli.serve_reference`. "
        "[serving.md](serving.md) is the place to begin.\n"
    )
    yield "## Flags\n"
    yield "`paged serve [FLAGS] [MODEL]`\n"
    for title, rows in flag_groups().items():
        yield f"### {title[0].upper()}{title[1:]}\n"
        cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
        yield table(("flag", "default", "meaning"), cells)
    yield from endpoint_sections()


def flag_groups() -> dict[str, list[tuple[str, str, str]]]:
    """Return what the help says: flag, default and meaning, by the title of its group."""
    parser = ArgumentParser(
        prog="paged serve",
        # Wide enough that a flag takes one line.
        formatter_class=lambda prog: HelpFormatter(prog, width=10_000, max_help_position=200),
    )
    ACTION.add_arguments(parser)
    groups: dict[str, list[tuple[str, str, str]]] = {}
    title = ""
    for line in parser.format_help().splitlines():
        begins = _GROUP.match(line)
        if begins is not None:
            title = begins[1]
            continue
        found = _FLAG.match(line)
        if found is not None and found[2] is not None and not found[1].startswith("-h,"):
            groups.setdefault(title, []).append(_row(found[1], found[2]))
    return groups


def _row(flag: str, said: str) -> tuple[str, str, str]:
    default = _DEFAULT.search(said)
    meaning = " ".join(_DEFAULT.sub("", said).split()).replace(" ;", ";")
    return f"`{flag}`", "" if default is None else default[1], meaning


if __name__ == "__main__":
    print(serve_reference(), end="")
