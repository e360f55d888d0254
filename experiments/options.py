"""Command line of the fragmentation experiment: one flag for each field of Options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from experiments.command import default_folder, parse_path
from experiments.flags import Flag, between, command_of, flag_name, names, parse_flags, share, whole
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asked for, as typed: None where the experiment chooses.

    Each field is a flag of the same name, with its help text beside it.
    Raises: ConfigError if flags contradict each other.
    """

    workload: Annotated[
        str | None,
        Flag(str, "NAME", f"built-in workload: {' or '.join(SYNTHETIC)} (default: sharegpt-like)"),
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
            whole(MAX_REQUESTS),
            "N",
            "requests to serve (default: a whole trace, or enough to complete 500)",
        ),
    ] = None
    arrivals: Annotated[
        str, Flag(str, "NAME", f"{', '.join(ARRIVALS)} (default: saturated: all queued at once)")
    ] = "saturated"
    rate: Annotated[
        float | None, Flag(between(1e-6, 1e9), "X", "requests per second of --arrivals poisson")
    ] = None
    model: Annotated[
        str | None,
        Flag(
            str,
            "NAME",
            "model, or JSON file with its shape (default: opt-13b; with --trace or"
            " --cdf llama-3-8b)",
        ),
    ] = None
    gpu: Annotated[
        str | None,
        Flag(str, "NAME", "GPU (default: a100-40gb; with --trace or --cdf h100-sxm)"),
    ] = None
    step_time: Annotated[
        str,
        Flag(
            str,
            "NAME",
            "roofline of model and GPU, or uniform: all steps weigh the same (default: roofline)",
        ),
    ] = "roofline"
    kv_gib: Annotated[
        float | None,
        Flag(
            between(1e-6, 2**20),
            "X",
            "KV pool in GiB (default: 12 for opt-13b on a100-40gb, else what the weights leave)",
        ),
    ] = None
    kv_slots: Annotated[
        int | None,
        Flag(whole(MAX_KV_SLOTS), "N", "KV pool in tokens; overrides --kv-gib, --model and --gpu"),
    ] = None
    max_model_len: Annotated[
        int | None,
        Flag(
            whole(MAX_MODEL_LEN),
            "N",
            "longest prompt + output (default: 2048; with --trace or --cdf the power"
            " of two that keeps every row)",
        ),
    ] = None
    max_num_seqs: Annotated[
        int, Flag(whole(MAX_NUM_SEQS), "N", "most requests that run at once (default: 1024)")
    ] = 1024
    max_num_batched_tokens: Annotated[
        int | None,
        Flag(whole(2**30), "N", "token budget of a step (default: a prompt takes one step)"),
    ] = None
    allocators: Annotated[
        tuple[str, ...],
        Flag(names, "A,B", f"allocators to compare (default: {', '.join(HEADLINE)})"),
    ] = HEADLINE
    block_size: Annotated[int, Flag(whole(MAX_KV_SLOTS), "N", "slots per block (default: 16)")] = (
        DEFAULT_BLOCK_SIZE
    )
    watermark: Annotated[
        float, Flag(share, "X", "share of the blocks kept free at admission (default: 0.01)")
    ] = DEFAULT_WATERMARK
    page_kib: Annotated[
        int,
        Flag(whole(2**30), "N", "physical page of the virtual allocator in KiB (default: 2048)"),
    ] = 2048
    seed: Annotated[int, Flag(whole(2**32 - 1, least=0), "N", "first seed (default: 0)")] = 0
    seeds: Annotated[
        int | None,
        Flag(whole(1_000), "N", "number of seeds (default: 3; 1 with --quick or --trace)"),
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
    record: Annotated[
        bool,
        Flag(
            str,
            "",
            "write every batch of each allocator, first seed, to batches_<allocator>.rec for"
            " paged replay",
        ),
    ] = False
    jobs: Annotated[int | None, Flag(whole(1_024), "N", "processes (default: one per core)")] = None
    out: Annotated[
        Path | None,
        Flag(
            parse_path,
            "DIR",
            "folder for results (default: results/fragmentation, with -quick after it if quick)",
        ),
    ] = None
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
                f"unknown {flag_name(name)} {value!r}:"
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
    def folder(self) -> Path:
        """Where results go: a quick run never takes the place of a full one."""
        return self.out or default_folder("fragmentation", is_quick=self.quick)

    @property
    def is_builtin(self) -> bool:
        """Whether lengths come from a built-in generator."""
        return self.trace is None and self.cdf is None

    @property
    def command(self) -> str:
        """Command that gives the same results: flags that differ from their defaults."""
        return command_of(
            self, module="experiments.fragmentation", without=WITHOUT_EFFECT_ON_RESULTS
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def parse_options(arguments: Sequence[str]) -> Options:
    """Parse a command line. Raises ConfigError; exits on --help."""
    return parse_flags(
        Options,
        arguments,
        prog="python -m experiments.fragmentation",
        description="Paged versus contiguous KV memory, measured by the production allocators and"
        " scheduler under simulated time. Without flags: Figure 2 of the vLLM paper.",
    )
