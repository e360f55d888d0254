"""`paged kernels list` and `paged kernels show`."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace

from paged.cli.command import Action
from paged.cli.kernel_option import add_kernel_option, chosen_kernels
from paged.cli.kernels.target import FORMS, find_target, find_targets
from paged.kernel.choice import HOST, REFERENCE
from paged.kernel.page import page
from paged.kernel.registry import OP_NAMES, find_op, ops, unfiled_variants
from paged.kernel.variant import Variant, find_variant

_NO_FILE = {REFERENCE: "the operation in torch", HOST: "C++ for this CPU"}


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="OP", help="operations; all by default")
    add_kernel_option(parser)


def _list(arguments: Namespace) -> int:
    chosen = chosen_kernels(arguments)
    names: dict[str, str] = {}
    for target in arguments.targets or OP_NAMES:
        names |= {_name(v): v.directives.summary for v in find_targets([target])}
        if target in OP_NAMES:
            names |= {f"{target}={each}": _NO_FILE[each] for each in unfiled_variants(target)}
    for op, name in chosen.items():
        summary = _NO_FILE.get(name) or find_variant(find_op(op), name).directives.summary
        names[f"{op}={name}"] = summary
    width = max(map(len, names))
    marks = {f"{op}={name}" for op, name in chosen.items()}
    for name, summary in names.items():
        mark = f"{'*' if name in marks else ' '} " if marks else ""
        print(f"{mark}{name:<{width}}  {summary}")
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


LIST = Action(add_arguments=_list_arguments, run=_list)

SHOW = Action(add_arguments=_show_arguments, run=_show)
