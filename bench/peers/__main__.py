"""Our engine end to end beside others: `python -m bench.peers`.

SmolLM2-135M, 32 ragged requests (prompts 32-256, outputs 16-256 tokens, greedy, no end but
their length), output tokens/s, rounds of all contestants in turn on equal threads, beside the
bound of our multiply-adds at the rate of registers; then a single stream, beside the floor of
reading the weights once for each token. Peers that fail or are
not installed are left out: `make bench-peers` installs vLLM and llama.cpp, and PAGED_VLLM_PYTHON
and PAGED_LLAMA_PYTHON name interpreters of other environments that have them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from bench.peer import Peer, PeerFailed
from bench.peers.contest import Result, left_out, run_contest
from bench.peers.entries import ENTRIES, Entry, python_of
from bench.peers.load import ragged_load, single_load
from bench.peers.report import goals, lines
from bench.record import store
from paged.errors import PagedError
from paged.kernel.backends.host import HostConfig, load_host

TIMEOUT_S = 1_800.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the contest and return the exit status."""
    options = _parse(arguments)
    chosen = [each for each in ENTRIES if each.name in options.entries]
    threads = options.threads or load_host(HostConfig()).num_threads
    load_before = os.getloadavg()[0]
    with ExitStack() as stack:
        contestants = [
            started for each in chosen if (started := _start(each, threads, stack)) is not None
        ]
        results = run_contest(
            contestants,
            batch=ragged_load(options.requests),
            single=single_load(),
            num_rounds=options.rounds,
            on_round=_note,
        )
    print("\n".join(lines(results, threads=threads)))
    if options.record:
        content = _content(results, threads, options.requests, load_before)
        print(f"wrote {store(content, 'peers-cpu')}")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [each.name for each in ENTRIES]
    parser.add_argument(
        "--entries", nargs="+", default=names, choices=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--rounds", type=int, default=5, help="that count (default 5)")
    parser.add_argument("--requests", type=int, default=32, help="in a batch (default 32)")
    parser.add_argument("--threads", type=int, help="of each (default: the physical cores)")
    parser.add_argument("--record", action="store_true", help="also write to bench/results")
    return parser.parse_args(arguments)


def _start(entry: Entry, threads: int, stack: ExitStack) -> tuple[Result, Peer] | None:
    """Start a contestant; None, and a line that says why, where it does not start."""
    try:
        python = python_of(entry, os.environ)
        if python is None:
            _note(f"{entry.name} is not installed: left out")
            return None
        _note(f"loading {entry.name}")
        model = str(entry.model())
        peer = Peer(python, ("-m", f"bench.peers.{entry.worker}"), timeout_s=TIMEOUT_S)
        stack.callback(peer.close)
        versions = peer.ask("open", model=model, threads=threads, **entry.options)
    except (PeerFailed, PagedError) as error:
        _note(left_out(entry.name, error))
        return None
    return Result(entry=entry, versions=versions), peer


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _content(
    results: list[Result], threads: int, num_requests: int, load_before: float
) -> dict[str, Any]:
    return {
        "load_average_1min": {"before": load_before, "after": os.getloadavg()[0]},
        "threads": threads,
        "requests": num_requests,
        "contestants": {each.entry.name: each.as_dict() for each in results},
        "goals": {
            goal.text: {"value": goal.value, "goal": goal.least, "bound": goal.bound}
            for goal in goals(results)
        },
    }


if __name__ == "__main__":
    sys.exit(main())
