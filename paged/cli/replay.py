"""`paged replay`: a kernel on the schedule of a recorded run, judged and compared step by step."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paged.cli.command import Action
from paged.cli.kernel_option import choice
from paged.errors import BackendUnavailable, ConfigError
from paged.field_checks import MAX_INT64, MIN_INT64, integer
from paged.recording.recording import Recording, open_recording

if TYPE_CHECKING:
    from paged.kernel.measure.candidate import Candidate
    from paged.replay.shape import ReplayShape

NO_HARDWARE = "times of CUDA kernels are the interpreter's on this CPU: no measure of a GPU"

_FEW_STEPS = {"cpu": 8, "cuda": 64}
"""Replayed where the user does not say how many."""

_OF_A_KERNEL = ("against", "sanitize", "bench", "count", "json")
"""Flags that mean nothing where no kernel is replayed."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="what --record wrote")
    parser.add_argument(
        "--kernel",
        type=choice,
        metavar="OP=VARIANT",
        help="of any operation: a name of 'paged kernels list', FILE.cu, host or reference"
        " (default: only tell what was recorded)",
    )
    parser.add_argument(
        "--against", metavar="VARIANT", help="compare with this one too (default: none)"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--sanitize", action="store_true", help="judge every access (default: results alone)"
    )
    how.add_argument(
        "--bench", action="store_true", help="time it beside --against (default: no times)"
    )
    parser.add_argument(
        "--count", action="store_true", help="count the bytes it moves (default: not counted)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="of --bench (default: 3)"
    )
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="cpu: interpreted (default: cpu)"
    )
    parser.add_argument(
        "--steps", type=span, metavar="A:B", help="from step A to before B (default: all)"
    )
    parser.add_argument(
        "--every",
        type=int,
        metavar="N",
        help="each Nth of them that calls OP (default: 8 in all, 64 on a GPU)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="each call (default: none)")
    _add_shape(parser)


def _add_shape(parser: ArgumentParser) -> None:
    shape = parser.add_argument_group("shape")
    shape.add_argument(
        "--num-kv-heads", type=int, metavar="N", help="(default: the model's; 1 on a CPU)"
    )
    shape.add_argument(
        "--group-size", type=int, metavar="N", help="heads over a KV head (default: the model's)"
    )
    shape.add_argument("--head-dim", type=int, metavar="N", help="(default: the model's)")
    shape.add_argument(
        "--num-layers", type=int, metavar="N", help="of moved blocks (default: 32; 1 on a CPU)"
    )
    shape.add_argument("--dtype", default="bfloat16", help="of new rows (default: %(default)s)")
    shape.add_argument("--kv-dtype", default="bfloat16", help="of the pool (default: %(default)s)")
    shape.add_argument("--kv-group", type=int, default=0, metavar="N", help="(default: 0)")
    shape.add_argument("--seed", type=int, default=0, metavar="S", help="of contents (default: 0)")


def span(text: str) -> slice:
    """Read `A:B`, either of which may be left out. Raises ArgumentTypeError."""
    first, colon, last = text.partition(":")
    parts = [int(part) if part.isdecimal() else None for part in (first, last)]
    if not colon or any(p is None and each for p, each in zip(parts, (first, last), strict=True)):
        raise ArgumentTypeError(f"expected steps as 100:200, got {text!r:.40}")
    return slice(*parts)


def _run(arguments: Namespace) -> int:
    _check(arguments)
    with open_recording(arguments.file) as recording:
        print(_summary(recording), flush=True)
        status = 0 if arguments.kernel is None else _replay(recording, arguments)
        if recording.contents.fault is not None:
            print(f"paged replay: warning: {recording.contents.fault}", file=sys.stderr)
        return status


def _check(arguments: Namespace) -> None:
    """Refuse options that contradict each other. Raises: ConfigError, BackendUnavailable."""
    if arguments.kernel is None:
        given = [name for name in _OF_A_KERNEL if getattr(arguments, name)]
        if given:
            raise ConfigError(f"--{given[0]} says what is done with a kernel: name it by --kernel")
        return
    if arguments.bench and arguments.against is None:
        raise ConfigError("--bench times a kernel beside another: name it by --against")
    for name in ("sanitize", "count"):
        if getattr(arguments, name) and arguments.device == "cuda":
            raise ConfigError(f"--{name} runs in the interpreter: leave --device out")
    for name in ("every", "rounds"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} must be at least 1, got {value}")
    integer("seed", arguments.seed, MIN_INT64, MAX_INT64)
    if arguments.device == "cuda":
        _check_gpu()


def _check_gpu() -> None:
    from paged.kernel.backends.cuda_driver import why_unavailable

    reason = why_unavailable()
    if reason is not None:
        raise BackendUnavailable(f"no CUDA device to replay on: {reason}")


def _summary(recording: Recording) -> str:
    header = recording.header
    model = "a model it does not name" if header.model is None else header.model.name
    return (
        f"{recording.num_steps:,} steps of {model}: allocator {header.allocator},"
        f" {header.num_blocks:,} blocks of {header.block_size}, at most {header.max_rows:,}"
        " sequences"
    )


def _replay(recording: Recording, arguments: Namespace) -> int:
    import torch

    from paged.kernel.measure.bandwidth import l2_bytes
    from paged.replay.calls import CALLS
    from paged.replay.replay import replay
    from paged.replay.report import Report
    from paged.replay.step_problem import StepSource

    op: str = arguments.kernel[0]
    calls = CALLS[op]
    device = torch.device(arguments.device)
    shape = _shape(recording, arguments)
    kernel, other = _candidates(arguments)
    places, which = _places(recording, arguments, calls.moves)
    print(f"{which}; {shape.block_text if calls.moves else shape.text}", flush=True)
    if arguments.bench and device.type == "cpu":
        print(NO_HARDWARE, flush=True)
    outcomes = replay(
        recording,
        places,
        lambda batch, place: calls.make(
            batch, shape, StepSource(place=place, seed=arguments.seed, device=device)
        ),
        (kernel, other),
        num_rounds=arguments.rounds if arguments.bench else 0,
        l2_bytes=l2_bytes(device),
        is_counted=arguments.count,
    )
    if not outcomes:
        raise ConfigError(
            f"no chosen step calls {op}: choose others by --steps, or record a run that does"
        )
    report = Report(
        kernel=f"{op}={kernel.name}", other=None if other is None else other.name, outcomes=outcomes
    )
    print("\n".join(report.lines()))
    if arguments.json is not None:
        _write(arguments.json, json.dumps(report.rows(), indent=1) + "\n")
    return 1 if report.faults else 0


def _candidates(arguments: Namespace) -> tuple[Candidate, Candidate | None]:
    """Return the kernel and what it is compared with. Raises: KernelSourceError."""
    from paged.replay.contender import contender, sanitized

    op, variant = arguments.kernel
    kernel = sanitized(op, variant) if arguments.sanitize else contender(op, variant)
    return kernel, None if arguments.against is None else contender(op, arguments.against)


def _write(file: Path, text: str) -> None:
    """Write a result. Raises ConfigError where it cannot be written."""
    try:
        file.write_text(text)
    except OSError as error:
        raise ConfigError(f"cannot write --json {file}: {error.strerror}") from error


def _places(
    recording: Recording, arguments: Namespace, moves: Sequence[str]
) -> tuple[Sequence[int], str]:
    """Return the places of the steps to replay, and in words which they are.

    moves: those of a batch that make the calls; none where every step makes one.
    """
    places: Sequence[int] = range(recording.num_steps)[arguments.steps or slice(None)]
    among = "of them"
    if moves:
        num_moves = recording.num_moves(moves)
        places = [place for place in places if num_moves[place]]
        among = f"of the {len(places):,} that move blocks for it"
    every = arguments.every or max(1, -(-len(places) // _FEW_STEPS[arguments.device]))
    chosen = places[::every]
    return chosen, f"{len(chosen):,} {among}" + (f", one in {every:,}" if every > 1 else "")


def _shape(recording: Recording, arguments: Namespace) -> ReplayShape:
    """Return the shape that the flags and the recording name. Raises: as `shape_of`."""
    from paged.replay.shape import ShapeOptions, shape_of

    options = ShapeOptions(
        num_kv_heads=arguments.num_kv_heads or (1 if arguments.device == "cpu" else None),
        group_size=arguments.group_size,
        head_dim=arguments.head_dim,
        num_layers=arguments.num_layers or (1 if arguments.device == "cpu" else None),
        q_t=arguments.dtype,
        kv_t=arguments.kv_dtype,
        group=arguments.kv_group,
    )
    return shape_of(recording.header, options)


ACTION = Action(add_arguments=_add_arguments, run=_run)
