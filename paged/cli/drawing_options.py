"""How a command draws its output: the flags of `SamplingParams`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from paged.cli.grammar_options import add_grammar_options, chosen_grammar
from paged.errors import ConfigError
from paged.sampling_params import SamplingParams

# Name nothing where the most likely token is always taken.
_OF_DRAWS = ("top_p", "top_k", "min_p")


def add_drawing_options(parser: ArgumentParser) -> None:
    """Declare the flags. A command line is greedy unless it names a temperature."""
    drawing = parser.add_argument_group("drawing")
    drawing.add_argument(
        "--n", type=int, default=1, metavar="N", help="outputs to draw (default: %(default)s)"
    )
    drawing.add_argument(
        "--max-tokens",
        type=int,
        default=256,
        metavar="N",
        help="most tokens of an output (default: %(default)s)",
    )
    drawing.add_argument(
        "--temperature",
        type=float,
        default=0.0,
        metavar="T",
        help="0 takes the most likely token (default: %(default)s)",
    )
    _add_limits(parser)
    ends = parser.add_argument_group("end of an output")
    ends.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="ends an output; may be repeated (default: none)",
    )
    ends.add_argument(
        "--ignore-eos",
        action="store_true",
        help="go on past the model's own end (default: stop there)",
    )
    add_grammar_options(parser)


def _add_limits(parser: ArgumentParser) -> None:
    limits = parser.add_argument_group("tokens to draw from", "above temperature 0")
    limits.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="the fewest most likely ones that together have this probability (default: 1, all)",
    )
    limits.add_argument(
        "--top-k", type=int, metavar="K", help="the K most likely ones (default: 0, all)"
    )
    limits.add_argument(
        "--min-p",
        type=float,
        metavar="P",
        help="those at least this share as likely as the most likely one (default: 0, all)",
    )


def sampling_params(arguments: Namespace) -> SamplingParams:
    """Return what the flags say. Raises ConfigError, for flags without effect too."""
    given: dict[str, Any] = {
        name: getattr(arguments, name) for name in _OF_DRAWS if getattr(arguments, name) is not None
    }
    params = SamplingParams(
        n=arguments.n,
        temperature=arguments.temperature,
        max_tokens=arguments.max_tokens,
        stop=arguments.stop,
        ignore_eos=arguments.ignore_eos,
        grammar=chosen_grammar(arguments),
        **given,
    )
    idle = [*(("n",) if params.n > 1 else ()), *given]
    if params.is_greedy and idle:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise ConfigError(
            f"{flags} changes nothing at temperature {params.temperature:g}, which always takes"
            " the most likely token: give a --temperature such as 0.7, or leave it out"
        )
    return params
