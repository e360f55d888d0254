"""Command line of the fragmentation experiment: one flag for each field of Options."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, get_type_hints

from experiments.command import Parser, parse_path
from experiments.sim.setup import DEFAULT_BLOCK_SIZE, DEFAULT_WATERMARK, STEP_TIMES
from experiments.workload import ARRIVALS, SYNTHETIC
from experiments.workload.values import MAX_LENGTH_TOKENS
from paged.errors import ConfigError

HEADLINE = (
    "reserved-max",
    "reserved-pow2",
    "reserved-oracle",
    "reserved-oracle-best-fit",
    "virtual",
    "paged",
)

# Where results go and how they are made, not what they are.
WITHOUT_EFFECT_ON_RESULTS = ("out", "jobs", "json")

# Far above any server, and small enough that the tables of a run fit the memory of one.
MAX_KV_SLOTS = 2**26
MAX_NUM_SEQS = 2**16
MAX_REQUESTS = 10_000_000
MAX_MODEL_LEN = 2 * MAX_LENGTH_TOKENS


def _whole(most: int, *, least: int = 1) -> Callable[[str], int]:
    """Make a parser of whole numbers from least to most."""

    def parse(text: str) -> int:
        digits = text.strip()
        # Longer text is above any bound, and may be too long to convert.
        value = int(digits) if digits.isdecimal() and len(digits) <= 20 else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {least} to {most}, got {text!r:.40}"
            )
        return value

    return parse


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r:.40}") from error


def _between(least: float, most: float) -> Callable[[str], float]:
    """Make a parser of numbers from least to most."""

    def parse(text: str) -> float:
        value = _real(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"expected a number from {least:g} to {most:g}, got {text!r:.40}"
            )
        return value

    return parse


def _share(text: str) -> float:
    value = _real(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a share of at least 0 and below 1, got {text!r:.40}"
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
        Flag(
            parse_path, "FILE", "trace instead: Azure, Mooncake, Bailian or prefill,decode; .gz too"
        ),
    ] = None
    cdf: Annotated[
        Path | None, Flag(parse_path, "FILE", "length quantiles instead: CSV, or JSON by model")
    ] = None
    cdf_model: Annotated[str | None, Flag(str, "NAME", "which model of the --cdf file")] = None
    num_requests: Annotated[
        int | None,
        Flag(
            _whole(MAX_REQUESTS),
            "N",
            "requests to serve (default: a whole trace, or enough to complete 500)",
        ),
    ] = None
    arrivals: Annotated[
        str, Flag(str, "NAME", f"{', '.join(ARRIVALS)} (default saturated: all queued at once)")
    ] = "saturated"
    rate: Annotated[
        float | None, Flag(_between(1e-6, 1e9), "X", "requests per second of --arrivals poisson")
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
            _between(1e-6, 2**20),
            "X",
            "KV pool in GiB (default 12 for opt-13b on a100-40gb, else what the weights leave)",
        ),
    ] = None
    kv_slots: Annotated[
        int | None,
        Flag(_whole(MAX_KV_SLOTS), "N", "KV pool in tokens; overrides --kv-gib, --model and --gpu"),
    ] = None
    max_model_len: Annotated[
        int | None,
        Flag(
            _whole(MAX_MODEL_LEN),
            "N",
            "longest prompt + output (default 2048; with --trace or --cdf the power"
            " of two that keeps every row)",
        ),
    ] = None
    max_num_seqs: Annotated[
        int, Flag(_whole(MAX_NUM_SEQS), "N", "most requests that run at once (default 1024)")
    ] = 1024
    max_num_batched_tokens: Annotated[
        int | None,
        Flag(_whole(2**30), "N", "token budget of a step (default: a prompt takes one step)"),
    ] = None
    allocators: Annotated[
        tuple[str, ...],
        Flag(_names, "A,B", f"allocators to compare (default {', '.join(HEADLINE)})"),
    ] = HEADLINE
    block_size: Annotated[int, Flag(_whole(MAX_KV_SLOTS), "N", "slots per block (default 16)")] = (
        DEFAULT_BLOCK_SIZE
    )
    watermark: Annotated[
        float, Flag(_share, "X", "share of the blocks kept free at admission (default 0.01)")
    ] = DEFAULT_WATERMARK
    page_kib: Annotated[
        int,
        Flag(_whole(2**30), "N", "physical page of the virtual allocator in KiB (default 2048)"),
    ] = 2048
    seed: Annotated[int, Flag(_whole(2**32 - 1, least=0), "N", "first seed (default 0)")] = 0
    seeds: Annotated[
        int | None,
        Flag(_whole(1_000), "N", "number of seeds (default 3; 1 with --quick or --trace)"),
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
    jobs: Annotated[int | None, Flag(_whole(1_024), "N", "processes (default: one per core)")] = (
        None
    )
    out: Annotated[
        Path, Flag(parse_path, "DIR", "folder for results (default results/fragmentation)")
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

    @property
    def command(self) -> str:
        """Command that gives the same results: flags that differ from their defaults."""
        words = ["python", "-m", "experiments.fragmentation"]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in WITHOUT_EFFECT_ON_RESULTS or value == field.default:
                continue
            words.append(f"--{field.name.replace('_', '-')}")
            if isinstance(value, tuple):
                words.append(",".join(value))
            elif value is not True:
                words.append(str(value))
        return shlex.join(words)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def parse_options(arguments: Sequence[str]) -> Options:
    """Parse a command line. Raises ConfigError; exits on --help."""
    parser = Parser(
        prog="python -m experiments.fragmentation",
        description="Paged versus contiguous KV memory, measured by the production allocators and"
        " scheduler under simulated time. Without flags: Figure 2 of the vLLM paper.",
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
