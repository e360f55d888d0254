"""A CUDA source with everything that decides what it compiles to."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from paged.errors import KernelSourceError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


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

    """

    name: str
    text: str
    path: Path | None = None
    prelude: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    entries: tuple[str, ...]
    include_dirs: tuple[Path, ...] = field(default=())

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
        names = _INCLUDE.findall(self.text) + _INCLUDE.findall(self.prelude)
        waiting = [(name, self.search_dirs) for name in names]
        while waiting:
            name, folders = waiting.pop()
            path = next((d / name for d in folders if (d / name).is_file()), None)
            if path is None or (name, path.resolve()) in found:
                continue
            text = found[name, path.resolve()] = read_source(path)
            beside = (path.parent, *self.search_dirs)
            waiting += [(inner, beside) for inner in _INCLUDE.findall(text)]
        return found

    @property
    def headers(self) -> dict[str, str]:
        """Texts of all headers reached by quoted includes, by the name they are included as.

        Names found in none of the search folders are left to the compiler.
        """
        return {name: text for (name, _), text in self._headers.items()}

    @property
    def files(self) -> tuple[Path, ...]:
        """The source's file and its headers: when one changes, so does the program."""
        own = () if self.path is None else (self.path,)
        return own + tuple(dict.fromkeys(path for _, path in self._headers))

    @cached_property
    def content_hash(self) -> str:
        """Hash of everything above except the name: equal hashes compile to equal code."""
        digest = hashlib.sha256()
        parts = [self.text, self.prelude, repr(self.defines), repr(self.entries), self.label]
        found = sorted((name, text) for (name, _), text in self._headers.items())
        parts += [text for pair in found for text in pair]
        for part in parts:
            digest.update(f"{len(part)}:".encode() + part.encode())
        return digest.hexdigest()


def read_source(path: Path) -> str:
    """Return the text of a CUDA file, in UTF-8 with or without a byte order mark.

    Raises KernelSourceError where it cannot be read as text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelSourceError(f"cannot read kernel source {path}: {error}") from error
