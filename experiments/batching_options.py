"""Command line of the batching experiment: one flag for each field of BatchingOptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from experiments.command import default_folder, parse_path
from experiments.flags import Flag, command_of, names, parse_flags, whole
from paged.allocator.registry import find_allocator
from paged.errors import ConfigError

ARMS = ("paged", "reserved-max", "reserved-pow2", "static")
MODULE = "experiments.batching"

_WITHOUT_EFFECT_ON_WORK = ("out", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingOptions:
    """What the user asked for; each field is a flag, with its help text beside it.

    Raises: ConfigError if flags contradict each other.
    """

    model: Annotated[str, Flag(str, "MODEL", "as for `paged generate` (default: smollm2-135m)")] = (
        "smollm2-135m"
    )
    dtype: Annotated[str, Flag(str, "NAME", "of the weights (default: auto: bfloat16)")] = "auto"
    threads: Annotated[
        int | None, Flag(whole(1_024), "N", "threads of kernels (default: the physical cores)")
    ] = None
    num_requests: Annotated[
        int | None, Flag(whole(100_000), "N", "requests to serve (default: 48, 6 with --quick)")
    ] = None
    kv_slots: Annotated[
        int | None,
        Flag(whole(2**26), "N", "KV pool in tokens, of every arm (default: 4096, 1024 if quick)"),
    ] = None
    max_model_len: Annotated[
        int, Flag(whole(2**20), "N", "longest prompt + output, at least 512 (default: 512)")
    ] = 512
    max_num_seqs: Annotated[
        int, Flag(whole(4_096), "N", "most requests that run at once (default: 32)")
    ] = 32
    allocators: Annotated[
        tuple[str, ...], Flag(names, "A,B", f"arms to compare (default: {', '.join(ARMS)})")
    ] = ARMS
    fit: Annotated[
        str,
        Flag(str, "NAME", "arm whose first half the step times are fitted to (default: static)"),
    ] = "static"
    rounds: Annotated[
        int | None,
        Flag(whole(100), "N", "runs of each arm, in turn; medians count (default: 3, 1 if quick)"),
    ] = None
    seed: Annotated[int, Flag(whole(2**32 - 1, least=0), "N", "first seed (default: 0)")] = 0
    seeds: Annotated[int, Flag(whole(100), "N", "number of seeds (default: 1)")] = 1
    quick: Annotated[bool, Flag(str, "", "fewer requests and one round")] = False
    out: Annotated[
        Path | None,
        Flag(
            parse_path,
            "DIR",
            "folder for results (default: results/batching, with -quick after it if quick)",
        ),
    ] = None
    json: Annotated[bool, Flag(str, "", "print the summary as JSON, not as a table")] = False

    def __post_init__(self) -> None:
        for name in self.allocators:
            find_allocator(name)
        if self.fit not in self.allocators:
            raise ConfigError(
                f"--fit names one of --allocators, {', '.join(self.allocators)}; got {self.fit!r}"
            )

    @property
    def folder(self) -> Path:
        """Where results go: a quick run never takes the place of a full one."""
        return self.out or default_folder("batching", is_quick=self.quick)

    @property
    def load_size(self) -> int:
        """Requests to serve."""
        return self.num_requests or (6 if self.quick else 48)

    @property
    def pool_slots(self) -> int:
        """Tokens that the KV pool has room for: too few for all requests at once."""
        return self.kv_slots or (1_024 if self.quick else 4_096)

    @property
    def num_rounds(self) -> int:
        """Runs of each arm."""
        return self.rounds or (1 if self.quick else 3)

    @property
    def command(self) -> str:
        """Command that does the same work."""
        return command_of(self, module=MODULE, without=_WITHOUT_EFFECT_ON_WORK)


def parse_batching_options(arguments: Sequence[str]) -> BatchingOptions:
    """Parse a command line. Raises ConfigError; exits on --help."""
    return parse_flags(
        BatchingOptions,
        arguments,
        prog=f"python -m {MODULE}",
        description="Throughput of a real model under paged, reserved and static batching, on a"
        " CPU, and how far the simulator's prediction is from it.",
    )
