"""The flags of the `paged kernels` commands, apart from what runs: help needs no torch."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from paged.cli.command import Action, later
from paged.cli.kernel_option import add_kernel_option
from paged.hardware import GPUS

FORMS = "OP, OP=VARIANT or FILE.cu"
"""What names a kernel."""


def _list_flags(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="OP", help="operations; all by default")
    add_kernel_option(parser)


def _show_flags(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help=FORMS)
    parser.add_argument("--source", action="store_true", help="print the CUDA source as well")


def _new_flags(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="NAME", type=Path, help="writes NAME.cu")
    parser.add_argument(
        "--op", default="attention", help="one that 'paged kernels list' names (default: attention)"
    )
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="VARIANT",
        help="kernel to start from (default: the simplest)",
    )


def _run_flags(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=FORMS)
    _add_problem(parser)
    parser.add_argument(
        "--device",
        type=device_name,
        default="cpu",
        help="cpu, which is the interpreter, cuda or cuda:N (default: cpu)",
    )
    parser.add_argument(
        "--orders",
        type=seeds,
        default=(None, 1),
        metavar="LIST",
        help="orders of threads in the interpreter: natural, or seeds (default: natural,1)",
    )
    _add_timeout(parser)


def _check_flags(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{FORMS}; none: all shipped")
    _add_problem(parser)
    parser.add_argument(
        "--mutants",
        type=int,
        metavar="N",
        help="instead: plant faults in the shipped kernels, try N of each class (default: none)",
    )
    parser.add_argument(
        "--orders",
        type=orders,
        metavar="LIST",
        help="seeds of other orders of threads, which must give the same bits (default: 1); none: "
        "for kernels whose bits may differ, as sums by atomics do",
    )
    _add_timeout(parser)


def _bench_flags(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=FORMS)
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="cpu, which is the interpreter, or cuda (default: cpu)",
    )
    _add_workload(parser)
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="at least 3 (default: 5)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="written after each workload (default: none)"
    )


def _profile_flags(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=FORMS)
    _add_workload(parser)
    parser.add_argument(
        "--gpu",
        default="h100-sxm",
        metavar="NAME",
        help=f"whose data sheet is beside: {', '.join(GPUS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--lines", type=int, default=12, metavar="N", help="of source (default: %(default)s)"
    )


def _compile_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"{FORMS}; every shipped kernel by default"
    )
    parser.add_argument(
        "--arch",
        action="append",
        type=arch,
        help="sm_80 to sm_100; may be repeated (default: all)",
    )
    parser.add_argument(
        "--full", action="store_true", help="every type at every size for every architecture"
    )
    parser.add_argument("--quiet", action="store_true", help="print faults only, and the count")


def _add_problem(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--problem", default="", metavar="TEXT", help="only problems named so (default: all)"
    )


def _add_workload(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="NAME",
        help="may be repeated (default: all)",
    )


def _add_timeout(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds a launch may take (default: 60)",
    )


def seeds(text: str) -> tuple[int | None, ...]:
    """Read `natural,1,2`: the orders in which threads are run."""
    try:
        return tuple(None if part == "natural" else int(part) for part in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(f"expected natural, or numbers, with commas: {text!r}") from error


def orders(text: str) -> tuple[int, ...]:
    """Read `1,2`: seeds of orders in which blocks and threads are run; none: no other order."""
    try:
        return () if text == "none" else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(f"expected none, or numbers with commas: {text!r}") from error


def device_name(text: str) -> str:
    """Read `cpu`, `cuda` or `cuda:1`."""
    if re.fullmatch(r"cpu|cuda(:\d+)?", text) is None:
        raise ArgumentTypeError(f"expected cpu, cuda or cuda:N, got {text!r}")
    return text


def arch(text: str) -> str:
    """Read the name of a GPU's architecture."""
    from paged.kernel.nvrtc import ARCHS

    if text not in ARCHS:
        raise ArgumentTypeError(f"expected one of {', '.join(ARCHS)}, got {text!r:.40}")
    return text


LIST = Action(add_arguments=_list_flags, run=later("paged.cli.kernels.listing:run_list"))

SHOW = Action(add_arguments=_show_flags, run=later("paged.cli.kernels.listing:run_show"))

NEW = Action(add_arguments=_new_flags, run=later("paged.cli.kernels.new:run_new"))

RUN = Action(add_arguments=_run_flags, run=later("paged.cli.kernels.run:run_kernels"))

CHECK = Action(add_arguments=_check_flags, run=later("paged.cli.kernels.check:run_check"))

BENCH = Action(add_arguments=_bench_flags, run=later("paged.cli.kernels.bench:run_bench"))

PROFILE = Action(add_arguments=_profile_flags, run=later("paged.cli.kernels.profile:run_profile"))

COMPILE = Action(add_arguments=_compile_flags, run=later("paged.cli.kernels.compile:run_compile"))
