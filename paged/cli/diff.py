"""`paged diff`: the same requests under two configurations, to the first value that differs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from paged.cli.command import Action
from paged.cli.config_text import DEFAULT, parse_config
from paged.sampling_params import SamplingParams

if TYPE_CHECKING:
    from paged.engine.difference import Tolerance
    from paged.engine.lockstep import Comparison

# Two begin alike, as in a prefix cache; one is longer than the others.
_PROMPTS = (
    *("The capital of France is", "The capital of Italy is", "1 2 3 4 5 6"),
    "Write a short story about a lighthouse keeper who finds a letter in a bottle:",
)

# What kernels that sum in other orders differ by, and faults seldom.
_ROUNDING = 1e-3


def _add_arguments(parser: ArgumentParser) -> None:
    form = f"NAME=VALUE,... of operations (attention=v2) and options; or {DEFAULT}"
    parser.add_argument("a", metavar="A", help=form)
    parser.add_argument("b", metavar="B", help="the same for the other configuration")
    parser.add_argument(
        "--model",
        default="smollm2-135m",
        help="name, folder, .gguf file or hub id (default: %(default)s)",
    )
    parser.add_argument(
        "--prompt",
        dest="prompts",
        action="append",
        metavar="TEXT",
        help=f"may be repeated (default: {len(_PROMPTS)} of its own)",
    )
    for name, number, default, metavar, text in (
        ("max-tokens", int, 16, "N", "of each answer"),
        ("temperature", float, 0.0, "T", "0 is greedy"),
        ("seed", int, 0, "S", "of what is drawn"),
    ):
        about = f"{text} (default: %(default)s)"
        parser.add_argument(f"--{name}", type=number, default=default, metavar=metavar, help=about)
    parser.add_argument(
        "--ignore-eos", action="store_true", help="go on past the end of a text (default: end)"
    )
    tolerance = parser.add_argument_group("what is equal: each bit, or values as close as")
    tolerance.add_argument(
        "--rtol", type=float, default=0.0, metavar="SHARE", help="of B's value (default: 0)"
    )
    tolerance.add_argument(
        "--atol", type=float, default=0.0, metavar="DISTANCE", help="besides (default: 0)"
    )


def _run(arguments: Namespace) -> int:
    from paged.engine.difference import Tolerance
    from paged.engine.llm_config import LLMConfig
    from paged.engine.lockstep import compare

    base = LLMConfig(model=arguments.model)
    tolerance = Tolerance(rtol=arguments.rtol, atol=arguments.atol)
    params = SamplingParams(
        temperature=arguments.temperature,
        max_tokens=arguments.max_tokens,
        seed=arguments.seed,
        ignore_eos=arguments.ignore_eos,
    )
    prompts = arguments.prompts or _PROMPTS
    configs = (parse_config(arguments.a, base), parse_config(arguments.b, base))
    print(f"loading {arguments.model}", file=sys.stderr, flush=True)
    comparison = compare(configs, prompts, params, tolerance, show_progress=True)
    print(f"A: {arguments.a}", f"B: {arguments.b}", sep="\n")
    return _report(comparison, tolerance, num_requests=len(prompts))


def _report(comparison: Comparison, tolerance: Tolerance, *, num_requests: int) -> int:
    from paged.engine.difference import ValueDifference

    difference = comparison.difference
    if difference is None:
        print(f"no difference: {num_requests} requests, {comparison.num_values:,} values compared")
        return 0
    print("\n".join(difference.lines()))
    print(f"  {comparison.num_values:,} values before it are equal")
    is_close = isinstance(difference, ValueDifference) and difference.max_abs_error < _ROUNDING
    if is_close and not (tolerance.rtol or tolerance.atol):
        print("  each bit was compared; to look past rounding: --rtol 1e-2 --atol 1e-3")
    return 1


ACTION = Action(add_arguments=_add_arguments, run=_run)
