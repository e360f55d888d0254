"""Command line of the fragmentation experiment: one flag for each field of Options."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, NoReturn, get_type_hints

from experiments.sim.setup import DEFAULT_BLOCK_SIZE, DEFAULT_WATERMARK, STEP_TIMES
from experiments.workload import ARRIVALS, SYNTHETIC
from paged.errors import ConfigError

HEADLINE = (
    "reserved-max",
    "reserved-pow2",
    "reserved-oracle",
    "reserved-oracle-best-fit",
    "virtual",
    "paged",
)


def _whole(text: str) -> int:
    """Parse a whole number of at least 1."""
    value = int(text) if text.strip().isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return value


def _seed(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {text!r}")
    return int(text)


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from error


def _positive(text: str) -> float:
    value = _real(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def _share(text: str) -> float:
    value = _real(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a share of at least 0 and below 1, got {text!r}"
        )
    return value


def _names(text: str) -> tuple[str, ...]:
    """Parse `a,b` into distinct names in order."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("expected names separated by commas, got none")
    return names


@dataclass(frozen=True, slots=True)
class Flag:
    """How a field appears on the command line: parser, what it stands for, help text."""

    parse: Callable[[str], object]
    metavar: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for, as typed: None where the experiment chooses.

    Each field is a flag of the same name, with its help text beside it.
    Raises: ConfigError if flags contradict each other.
    """

    workload: Annotated[
        str | None,
        Flag(str, "NAME", f"built-in workload: {' or '.join(SYNTHETIC)} (default sharegpt-like)"),
    ] = None
    trace: Annotated[
        Path | None,
        Flag(Path, "FILE", "trace instead: Azure, Mooncake, Bailian or prefill,decode; .gz too"),
    ] = None
    cdf: Annotated[
        Path | None, Flag(Path, "FILE", "length quantiles instead: CSV, or JSON by model")
    ] = None
    cdf_model: Annotated[str | None, Flag(str, "NAME", "which model of the --cdf file")] = None
    num_requests: Annotated[
        int | None,
        Flag(_whole, "N", "requests to serve (default: a whole trace, or enough to complete 500)"),
    ] = None
    arrivals: Annotated[
        str, Flag(str, "NAME", f"{', '.join(ARRIVALS)} (default saturated: all queued at once)")
    ] = "saturated"
    rate: Annotated[
        float | None, Flag(_positive, "X", "requests per second of --arrivals poisson")
    ] = None
    model: Annotated[
        str | None,
        Flag(
            str,
            "NAME",
            "model, or JSON file with its shape (default opt-13b; with --trace or"
            " --cdf llama-3-8b)",
        ),
    ] = None
    gpu: Annotated[
        str | None,
        Flag(str, "NAME", "GPU (default a100-40gb; with --trace or --cdf h100-sxm)"),
    ] = None
    step_time: Annotated[
        str,
        Flag(
            str,
            "NAME",
            "roofline of model and GPU, or uniform: all steps weigh the same (default roofline)",
        ),
    ] = "roofline"
    kv_gib: Annotated[
        float | None,
        Flag(
            _positive,
            "X",
            "KV pool in GiB (default 12 for opt-13b on a100-40gb, else what the weights leave)",
        ),
    ] = None
    kv_slots: Annotated[
        int | None, Flag(_whole, "N", "KV pool in tokens; overrides --kv-gib, --model and --gpu")
    ] = None
    max_model_len: Annotated[
        int | None,
        Flag(
            _whole,
            "N",
            "longest prompt + output (default 2048; with --trace or --cdf the power"
            " of two that keeps every row)",
        ),
    ] = None
    max_num_seqs: Annotated[
        int, Flag(_whole, "N", "most requests that run at once (default 1024)")
    ] = 1024
    max_num_batched_tokens: Annotated[
        int | None, Flag(_whole, "N", "token budget of a step (default: a prompt takes one step)")
    ] = None
    allocators: Annotated[
        tuple[str, ...],
        Flag(_names, "A,B", f"allocators to compare (default {', '.join(HEADLINE)})"),
    ] = HEADLINE
    block_size: Annotated[int, Flag(_whole, "N", "slots per block (default 16)")] = (
        DEFAULT_BLOCK_SIZE
    )
    watermark: Annotated[
        float, Flag(_share, "X", "share of the blocks kept free at admission (default 0.01)")
    ] = DEFAULT_WATERMARK
    page_kib: Annotated[
        int, Flag(_whole, "N", "physical page of the virtual allocator in KiB (default 2048)")
    ] = 2048
    seed: Annotated[int, Flag(_seed, "N", "first seed (default 0)")] = 0
    seeds: Annotated[
        int | None, Flag(_whole, "N", "number of seeds (default 3; 1 with --quick or --trace)")
    ] = None
    quick: Annotated[bool, Flag(str, "", "fewer requests, seeds and sweep points")] = False
    no_ablations: Annotated[
        bool, Flag(str, "", "leave the block size and watermark sweeps out")
    ] = False
    chrome_trace: Annotated[
        bool,
        Flag(
            str,
            "",
            "write the schedule of each allocator, first seed, to schedule_<allocator>.json.gz"
            " for ui.perfetto.dev",
        ),
    ] = False
    jobs: Annotated[int | None, Flag(_whole, "N", "processes (default: one per core)")] = None
    out: Annotated[
        Path, Flag(Path, "DIR", "folder for results (default results/fragmentation)")
    ] = Path("results/fragmentation")
    json: Annotated[bool, Flag(str, "", "print the summary as JSON, not as a table")] = False

    def __post_init__(self) -> None:
        sources = [name for name in ("workload", "trace", "cdf") if getattr(self, name) is not None]
        _require(
            len(sources) <= 1,
            f"expected one source of requests, got {' and '.join(f'--{name}' for name in sources)}",
        )
        for name, choices in (
            ("workload", (None, *SYNTHETIC)),
            ("arrivals", ARRIVALS),
            ("step_time", STEP_TIMES),
        ):
            value = getattr(self, name)
            _require(
                value in choices,
                f"unknown --{name.replace('_', '-')} {value!r}:"
                f" expected one of {', '.join(one for one in choices if one)}",
            )
        _require(
            (self.arrivals == "poisson") == (self.rate is not None),
            f"--rate and --arrivals poisson go together, got arrivals {self.arrivals}"
            f" and {'no rate' if self.rate is None else f'rate {self.rate}'}",
        )
        _require(
            self.arrivals != "trace" or self.trace is not None,
            "--arrivals trace replays timestamps: give a --trace FILE that has them",
        )
        _require(self.cdf_model is None or self.cdf is not None, "--cdf-model needs a --cdf FILE")

    @property
    def is_builtin(self) -> bool:
        """Whether lengths come from a built-in generator."""
        return self.trace is None and self.cdf is None


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


class _Parser(argparse.ArgumentParser):
    """A parser that leaves reporting errors to the caller."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; see --help")


def parse_options(arguments: Sequence[str]) -> Options:
    """Parse a command line. Raises ConfigError; exits on --help."""
    parser = _Parser(
        prog="python -m experiments.fragmentation",
        description="Paged versus contiguous KV memory, measured by the production allocators and"
        " scheduler under simulated time. Without flags: Figure 2 of the vLLM paper.",
        allow_abbrev=False,
    )
    hints = get_type_hints(Options, include_extras=True)
    for one in fields(Options):
        flag: Flag = hints[one.name].__metadata__[0]
        name = f"--{one.name.replace('_', '-')}"
        if one.default is False:
            parser.add_argument(name, action="store_true", help=flag.text)
        else:
            parser.add_argument(
                name, type=flag.parse, default=one.default, metavar=flag.metavar, help=flag.text
            )
    return Options(**vars(parser.parse_args(arguments)))
