"""`paged kernels new`: begin a kernel of one's own from one that works."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from paged.errors import KernelSourceError
from paged.kernel.registry import find_op
from paged.kernel.source import read_source
from paged.kernel.variant import Variant, find_variant, shipped_variants, variant_name

_TITLE = re.compile(r"\A// \w+, \w+: .*\n(?:// .*\n)*")
_SUMMARY = re.compile(r"^(// paged: summary[ \t]+).*$", re.MULTILINE)


def run_new(arguments: Namespace) -> int:
    """Write the file that was asked for; return the exit status."""
    path: Path = arguments.file
    path = path if path.suffix == ".cu" else path.with_name(f"{path.name}.cu")
    op = find_op(arguments.op)
    origin = arguments.origin or simplest(list(shipped_variants(op)))
    text = starter(find_variant(op, origin), path)
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError as error:
        raise KernelSourceError(f"{path} exists, and is kept; choose another name") from error
    except OSError as error:
        raise KernelSourceError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path}, a copy of {op.name}={origin}; try it: paged kernels run {path}")
    return 0


def simplest(names: list[str]) -> str:
    """Return the variant that a beginner reads first."""
    return next((name for name in ("v0", "simple") if name in names), names[0])


def starter(origin: Variant, path: Path) -> str:
    """Return the text of a shipped kernel as that of a new file: titled and named after it."""
    op, name = origin.op.name, variant_name(origin.op, path)
    text = _TITLE.sub("", read_source(origin.path))
    for launch in origin.directives.launches:
        entry = launch.entry.partition("<")[0]
        part = entry.removeprefix(f"{op}_").removeprefix(origin.name)
        own = re.sub(r"\W", "_", f"{op}_{name}{part}", flags=re.ASCII)
        text = re.sub(rf"\b{entry}\b", own, text)
    text = _SUMMARY.sub(rf"\g<1>my own, begun as a copy of {origin.name}", text)
    return f"// {op}, {name}: my own kernel, begun as a copy of {origin.name}.\n{text}"
