"""`paged kernels list` and `paged kernels show`."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace

from paged.cli.command import Command
from paged.cli.kernels.target import FORMS, find_target, find_targets
from paged.kernel.page import page
from paged.kernel.registry import ops
from paged.kernel.variant import Variant


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="OP", help="operations; all by default")


def _list(arguments: Namespace) -> int:
    variants = find_targets(arguments.targets)
    width = max(len(_name(v)) for v in variants)
    for variant in variants:
        print(f"{_name(variant):<{width}}  {variant.directives.summary}")
    return 0


def _name(variant: Variant) -> str:
    return f"{variant.op.name}={variant.name}"


def _show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=FORMS)
    parser.add_argument("--source", action="store_true", help="print the CUDA source as well")


def _show(arguments: Namespace) -> int:
    if arguments.target in ops():
        op = ops()[arguments.target]
        print(page(op.signature))
        print(f"What it computes:\n\n{inspect.getdoc(op.reference)}")
        return 0
    variant = find_target(arguments.target)
    print(page(variant.spec), end="")
    print(f"\nFile: {variant.path}")
    if arguments.source:
        print(f"\n{variant.path.read_text()}", end="")
    return 0


LIST = Command(
    name="list",
    summary="list operations and the kernels that serve them",
    add_arguments=_list_arguments,
    run=_list,
)

SHOW = Command(
    name="show",
    summary="print the page of an operation or a kernel: operands, launches, struct, least work",
    add_arguments=_show_arguments,
    run=_show,
)
