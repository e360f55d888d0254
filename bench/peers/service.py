"""A contestant in a process of its own: one JSON line in, one JSON line out."""

from __future__ import annotations

import json
import logging
import os
import sys
from time import perf_counter
from typing import Any, Protocol


class Contestant(Protocol):
    """What a worker runs. Its constructor takes the options of `open` and loads the model."""

    def versions(self) -> dict[str, str]:
        """Versions that a stored result has to name."""
        ...

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        """Serve all requests to the end; return how many of their tokens were drawn."""
        ...


class Service:
    """Answers the questions of `bench.peer.Peer`. kind: makes the contestant."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._contestant: Any = None

    def answer(self, op: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run one operation: open, round, or one of the contestant's own."""
        if op == "open":
            self._contestant = self._kind(**arguments)
            return self._contestant.versions()
        if op == "round":
            return self._time_round(**arguments)
        return getattr(self._contestant, f"op_{op}")(**arguments)

    def _time_round(self, prompts: list[list[int]], output_tokens: list[int]) -> dict[str, Any]:
        begin_s = perf_counter()
        num_drawn = self._contestant.serve(prompts, output_tokens)
        return {"seconds": perf_counter() - begin_s, "num_drawn": num_drawn}


def serve_stdin(kind: type[Any]) -> None:
    """Answer from standard input until it closes."""
    # Libraries print to standard output; answers need it for themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.WARNING)
    service = Service(kind)
    for line in sys.stdin:
        request = json.loads(line)
        result = service.answer(request.pop("op"), request)
        print(json.dumps(result), file=answers, flush=True)
