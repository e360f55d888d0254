"""What the HTTP server costs beside its engine: `python -m bench.serving`.

The real server, with an engine that computes nothing, at 64 streams; the same engine without HTTP,
whose processor time is taken off; and the floor of the stack, a bare application that sends the
same bytes. Each has a process of its own, and so do the clients; rounds go in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.peer import Peer
from bench.record import store
from bench.serving.cells import LOADS, Cost, Overhead, overhead, run_engine, run_server
from bench.serving.load import recorded, run_load

GOALS = {"request_us": 1_000.0, "token_us": 50.0}
_TIMEOUT_S = 120.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", default="smollm2-135m", help="whose tokenizer is used")
    parser.add_argument("--rounds", type=int, default=5, help="that count (default 5)")
    parser.add_argument(
        "--process", action="store_true", help="also the server with its engine in a process"
    )
    parser.add_argument("--record", action="store_true", help="also write to bench/results")
    options = parser.parse_args(arguments)
    found = measure(options.model, options.rounds, has_process=options.process)
    print("\n".join(lines(found)))
    if options.record:
        print(f"wrote {store(_content(found, options.model, options.rounds), 'serving-cpu')}")
    return 0


def measure(model: str, num_rounds: int, *, has_process: bool = False) -> dict[str, Overhead]:
    """Run all rounds, one more before them that does not count.

    has_process: measure `ProcessWorker` too.
    """
    with ExitStack() as stack:
        engine = _start(stack, "engine", model=model)
        peers = {"server": _start(stack, "server", model=model)}
        if has_process:
            peers["process"] = _start(stack, "process", model=model)
        whole, events = recorded(port=peers["server"].ask("port")["port"], model=model)
        peers["floor"] = _start(stack, "floor", whole=whole, events=events)
        ports: dict[str, int] = {name: peer.ask("port")["port"] for name, peer in peers.items()}
        costs: dict[str, dict[str, list[Cost]]] = {}
        for number in range(num_rounds + 1):
            print(f"round {number} of {num_rounds}", file=sys.stderr, flush=True)
            for name, load in LOADS.items():
                ran = {"engine": run_engine(engine, load)}
                for peer_name, peer in peers.items():
                    send = partial(run_load, port=ports[peer_name], model=model)
                    ran[peer_name] = run_server(peer, load, send)
                for peer_name, cost in ran.items() if number else ():
                    costs.setdefault(peer_name, {}).setdefault(name, []).append(cost)
    # The floor has no engine.
    return {
        name: overhead(costs[name], None if name == "floor" else costs["engine"]) for name in peers
    }


def _start(stack: ExitStack, name: str, **options: Any) -> Peer:
    peer = Peer(Path(sys.executable), ("-m", "bench.serving.worker", name), timeout_s=_TIMEOUT_S)
    stack.callback(peer.close)
    print(f"starting {name}", file=sys.stderr, flush=True)
    peer.ask("open", **options)
    return peer


def lines(found: dict[str, Overhead]) -> list[str]:
    """Lay out what was found, and what was to be reached."""
    names = tuple(next(iter(found.values())).as_dict())
    shown = [f"{'':16}" + "".join(f"{name:>12}" for name in found) + f"{'goal':>12}"]
    for name in names:
        values = "".join(f"{getattr(each, name):12.4g}" for each in found.values())
        goal = GOALS.get(name)
        shown.append(f"{name:16}{values}" + ("" if goal is None else f"{goal:12.4g}"))
    return shown


def _content(found: dict[str, Overhead], model: str, num_rounds: int) -> dict[str, Any]:
    return {
        "load_average_1min": os.getloadavg()[0],
        "model": model,
        "rounds": num_rounds,
        "goals": GOALS,
        "overhead": {name: each.as_dict() for name, each in found.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
