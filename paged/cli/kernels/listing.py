"""`paged kernels list` and `paged kernels show`."""

from __future__ import annotations

import inspect
from argparse import Namespace

from paged.cli.kernel_option import chosen_kernels
from paged.cli.kernels.target import find_target, find_targets
from paged.kernel.choice import HOST, REFERENCE
from paged.kernel.page import page
from paged.kernel.registry import OP_NAMES, find_op, ops, unfiled_variants
from paged.kernel.variant import Variant, find_variant

_NO_FILE = {REFERENCE: "the operation in torch", HOST: "C++ for this CPU"}


def run_list(arguments: Namespace) -> int:
    """List operations and kernels; return the exit status."""
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


def run_show(arguments: Namespace) -> int:
    """Print the page of an operation or a kernel; return the exit status."""
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
