"""Faults planted in a kernel's text, one at a time, for a check that claims to find them.

A mutant drops a barrier, a wait, a fence, a guard or an initialisation, or moves a bound or an
index by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from paged.kernel.backends.translation import blank_hidden, line_of

MutantClass = Literal["barrier", "wait", "fence", "guard", "bound", "index", "initialisation"]
MUTANT_CLASSES: tuple[MutantClass, ...] = get_args(MutantClass)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A text with one fault.

    Attributes:
        path: of the file that the text is to stand for.
        code: the line without its indentation, before the change.
        before, after: what was replaced in it, and by what.

    """

    what: MutantClass
    path: Path
    line: int
    code: str
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        after = self.after or "nothing"
        return f"{self.what}: {self.path.name}:{self.line}: `{self.before}` -> `{after}`"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern in code, and what becomes of the group `it` where it is found."""

    what: MutantClass
    pattern: re.Pattern[str]
    change: Callable[[str], str]


def _nothing(_: str) -> str:
    return ""


def _without_value(statement: str) -> str:
    """Return a declaration without its value; nothing of an assignment."""
    declared = re.match(r"[\w:]+ \w+(?= = )", statement)
    return "" if declared is None else f"{declared[0]};"


def _one_more(index: str) -> str:
    return f"({index}) + 1"


_NAME = r"[\w.:>\-]+"
_ZEROS = r"(?:0\.0f|\w*Vector\w*\{\}|make_uint4\(0, 0, 0, 0\)|kMinusInfinity|RowSums\{\}|nullptr)"
RULES = (
    _Rule("barrier", re.compile(r"(?P<it>\b__sync(?:threads|warp)\(\);)"), _nothing),
    _Rule("wait", re.compile(r"(?P<it>\bcp_async_(?:wait<\w+>|commit)\(\);)"), _nothing),
    _Rule("fence", re.compile(r"(?P<it>\b__threadfence\w*\(\);)"), _nothing),
    _Rule(
        "guard",
        re.compile(r"\bif \([^;{}]*?\) (?P<it>(?:continue|break|return);)"),
        lambda _: ";",
    ),
    _Rule("guard", re.compile(r"\bif \((?P<it>[^;(){}]+ < [^;(){}]+)\)"), lambda _: "true"),
    _Rule("bound", re.compile(r"\bfor \([^;]*;[^;<]* (?P<it><) [^;]*;"), lambda _: "<="),
    _Rule("bound", re.compile(rf"\bif \([^;<{{}}]*{_NAME} (?P<it><) "), lambda _: "<="),
    _Rule("bound", re.compile(rf"\bif \([^;>{{}}]*{_NAME} (?P<it>>=) "), lambda _: ">"),
    _Rule(
        "index",
        re.compile(r"(?<=[\w\])])\[(?P<it>[^\[\]{};]*[a-z][^\[\]{};]*)\](?! \w+\{|\s*[;,)]\s*//)"),
        _one_more,
    ),
    _Rule(
        "initialisation",
        re.compile(rf"^ *(?P<it>[\w.:*<>\[\]() +\-]+ = {_ZEROS};)$", re.MULTILINE),
        _without_value,
    ),
)
_DECLARATION = re.compile(
    r"^\s*(?:__shared__|constexpr|static|struct|template|const \w+ &|alignas|extern)\b"
    r"|^\s*(?:const )?(?:float|int|unsigned|bool|char|long long|Vector|SourceChunk|Fragment"
    r"|KV_T|Q_T|T|RowSums|uint4|Row)\*? \w+\[[^=]*(?: = \{.*)?$"
    r"|operator\[\]|\(&\w+\)"
)


def mutants_of(path: Path, text: str) -> Iterator[Mutant]:
    """Yield the mutants of a file, in the order of the rules."""
    code = blank_hidden(text)
    lines = code.splitlines()
    seen: set[tuple[int, str]] = set()
    for rule in RULES:
        for found in rule.pattern.finditer(code):
            begin, end = found.span("it")
            line = line_of(code, begin)
            before, after = text[begin:end], rule.change(text[begin:end])
            is_declared = rule.what in ("index", "initialisation") and _DECLARATION.search(
                lines[line - 1]
            )
            if is_declared or (begin, after) in seen:
                continue
            seen.add((begin, after))
            yield Mutant(
                what=rule.what,
                path=path,
                line=line,
                code=text.splitlines()[line - 1].strip(),
                before=before,
                after=after,
                text=text[:begin] + after + text[end:],
            )
