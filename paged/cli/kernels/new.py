"""`paged kernels new`: begin a kernel of one's own from one that works."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paged.cli.command import Command
from paged.errors import KernelSourceError
from paged.kernel.registry import OP_NAMES, find_op
from paged.kernel.variant import find_variant, shipped_variants

_SUMMARY = re.compile(r"^(// paged: summary[ \t]+).*$", re.MULTILINE)


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="NAME", type=Path, help="writes NAME.cu")
    parser.add_argument("--op", default="attention", help=f"one of {', '.join(OP_NAMES)}")
    parser.add_argument(
        "--from", dest="origin", metavar="VARIANT", help="kernel to start from; the simplest"
    )


def _run(arguments: Namespace) -> int:
    path: Path = arguments.file
    path = path if path.suffix == ".cu" else path.with_name(f"{path.name}.cu")
    op = find_op(arguments.op)
    origin = arguments.origin or simplest(list(shipped_variants(op)))
    text = starter(find_variant(op, origin).path.read_text(), origin)
    try:
        with path.open("x") as file:
            file.write(text)
    except OSError as error:
        raise KernelSourceError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path}, a copy of {op.name}={origin}; try it: paged kernels run {path}")
    return 0


def simplest(names: list[str]) -> str:
    """Return the variant that a beginner reads first."""
    return next((name for name in ("v0", "simple") if name in names), names[0])


def starter(text: str, origin: str) -> str:
    """Return a kernel's text as the start of another one."""
    return _SUMMARY.sub(rf"\g<1>mine, from {origin}", text)


COMMAND = Command(
    name="new",
    summary="write a working kernel file to start from",
    add_arguments=_add_arguments,
    run=_run,
)
