"""A CUDA source with everything that decides what it compiles to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from paged.errors import KernelSourceError

_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*"
    r'(?:"(?P<name>[^"\n]+)"|(?P<macro>[A-Za-z_]\w*)[ \t]*(?P<call>\()?)',
    re.MULTILINE,
)
_DEFINE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+("[^"\n]+"|[A-Za-z_]\w*)', re.MULTILINE)

_NUM_KEPT_TEXTS = 256
MAX_SOURCE_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What a kernel is passed as one parameter.

    Attributes:
        what: how messages call it.
        cuda: its C++ type, or None where it has a layout of its own.

    """

    what: str
    cuda: str | None


@dataclass(frozen=True, kw_only=True)
class KernelSource:
    """One translation unit: text, macros and the kernels wanted from it.

    Attributes:
        name: a short name for messages and build folders, such as `attention_v0`.
        text: the CUDA C++ text, as in the file.
        path: the file the text came from, or None for text given inline.
        prelude: text compiled before it (the generated parameter struct); may be empty.
        defines: macros as (name, value), in order.
        entries: kernels to make callable: names, or template expressions `scale<float, 4>`.
        include_dirs: where quoted includes are looked up, after the file's own folder.
        parameters: what each of the entries is passed, in order; None where that is not known.
        operands: names of those whose addresses kernels are passed, for messages.

    """

    name: str
    text: str
    path: Path | None = None
    prelude: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    entries: tuple[str, ...]
    include_dirs: tuple[Path, ...] = field(default=())
    parameters: tuple[Parameter, ...] | None = None
    operands: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How messages name the text: the path as given, or `<name>`."""
        return f"<{self.name}>" if self.path is None else str(self.path)

    @property
    def search_dirs(self) -> tuple[Path, ...]:
        """Folders for quoted includes, first match wins."""
        own = () if self.path is None else (self.path.parent,)
        return own + self.include_dirs

    @cached_property
    def _headers(self) -> dict[tuple[str, Path], str]:
        """Texts by the name they are included as and the resolved path."""
        found: dict[tuple[str, Path], str] = {}
        num_known = -1
        while num_known < len(found):
            num_known = len(found)
            texts = [(self.text, self.search_dirs), (self.prelude, self.search_dirs)]
            texts += [(text, (path.parent, *self.search_dirs)) for (_, path), text in found.items()]
            macros = _macros(self.defines, (text for text, _ in texts))
            for text, folders in texts:
                for name in self._included(text, macros):
                    path = next((d / name for d in folders if (d / name).is_file()), None)
                    if path is not None and (name, path.resolve()) not in found:
                        found[name, path.resolve()] = read_source(path)
        return found

    def _included(self, text: str, macros: Mapping[str, set[str]]) -> Iterator[str]:
        """Yield the names of the headers that a text may include: macros have several meanings."""
        for include in _includes(text):
            if include["call"] is not None:
                raise KernelSourceError(
                    f"{self.label}: cannot tell which file `{include.group().strip()}..` includes, "
                    f"and changes of it would go unseen; write its name, or a macro that is one"
                )
            if include["name"] is not None:
                yield include["name"]
            else:
                yield from _meanings(include["macro"], macros)

    @property
    def headers(self) -> dict[str, str]:
        """Texts of all headers reached by quoted includes, by the name they are included as.

        Names found in none of the search folders are left to the compiler. Where a macro stands for
        the name, all that it is defined as anywhere are reached. Raises KernelSourceError where one
        with parameters does.
        """
        return {name: text for (name, _), text in self._headers.items()}

    @property
    def texts(self) -> tuple[str, ...]:
        """The text and those of all headers."""
        return (self.text, *self.headers.values())

    def text_of(self, file: str) -> str | None:
        """Return the text that a compiler calls by this name; None for one that is not ours."""
        if file == self.label:
            return self.text
        names = self.headers
        return next((names[n] for n in names if file == n or file.endswith(f"/{n}")), None)

    @property
    def files(self) -> tuple[Path, ...]:
        """The source's file and its headers: when one changes, so does the program."""
        own = () if self.path is None else (self.path,)
        return own + tuple(dict.fromkeys(path for _, path in self._headers))

    @cached_property
    def content_hash(self) -> str:
        """Hash of everything above that is compiled: equal hashes compile to equal code."""
        digest = hashlib.sha256()
        parts = [self.text, self.prelude, repr(self.defines), repr(self.entries), self.label]
        parts.append(repr(self.parameters))
        found = sorted((name, text) for (name, _), text in self._headers.items())
        parts += [text for pair in found for text in pair]
        for part in parts:
            digest.update(f"{len(part)}:".encode() + part.encode())
        return digest.hexdigest()


# Kernels of one operation, and all that are built of one kernel, include the same headers.
@lru_cache(maxsize=_NUM_KEPT_TEXTS)
def _includes(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_INCLUDE.finditer(text))


@lru_cache(maxsize=_NUM_KEPT_TEXTS)
def _definitions(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_DEFINE.findall(text))


def _macros(defines: Iterable[tuple[str, str]], texts: Iterable[str]) -> Mapping[str, set[str]]:
    """Return all that each macro stands for: literals and names of macros."""
    macros: dict[str, set[str]] = {}
    for name, value in (*defines, *(pair for text in texts for pair in _definitions(text))):
        macros.setdefault(name, set()).add(value)
    return macros


def _meanings(macro: str, macros: Mapping[str, set[str]]) -> list[str]:
    """Return the literals that a macro stands for, by way of others too."""
    names = [macro]
    for name in names:
        names += [value for value in macros.get(name, ()) if value not in names]
    return sorted(name.strip('"') for name in names if name.startswith('"'))


def read_source(path: Path) -> str:
    """Return the text of a CUDA file, in UTF-8 with or without a byte order mark.

    Raises KernelSourceError where it cannot be read as text, or is larger than MAX_SOURCE_BYTES.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise KernelSourceError(
                f"cannot read kernel source {path}: expected at most {MAX_SOURCE_BYTES >> 20} MiB"
            )
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelSourceError(f"cannot read kernel source {path}: {error}") from error
