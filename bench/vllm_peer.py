"""Time vLLM's own scheduler, block pool and KV manager, as a child process.

    VLLM_PYTHON -m bench.vllm_peer

Runs in an environment that has vLLM (`make bench-peers`) and neither `paged` nor a model.
Reads one JSON request a line, `{"op": ..., ...}`, and answers each with one JSON line;
times are in microseconds.
"""

# vLLM lives in another environment than the type checker's.
# pyright: reportMissingImports=false

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import vllm
from vllm.config import ModelConfig

from bench.load import SaturatedLoad, SteadyLoad
from bench.vllm_blocks import BlockPeer, PrefixPeer
from bench.vllm_scheduler import SteadyPeer, make_model_config, time_simulation


class Service:
    """Answers requests; keeps what was opened last, so that rounds are steady."""

    def __init__(self, model: ModelConfig) -> None:
        self._model = model
        self._steady: SteadyPeer | None = None
        self._blocks: BlockPeer | None = None
        self._prefix: PrefixPeer | None = None

    def answer(self, op: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run one operation. Raises AttributeError for an unknown one."""
        return getattr(self, f"op_{op}")(**arguments)

    def op_versions(self) -> dict[str, Any]:
        """Versions that a stored result has to name."""
        return {
            "vllm": vllm.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": sys.version.split()[0],
        }

    def op_open_steady(self, num_running: int, num_warmup_steps: int) -> dict[str, Any]:
        """Build a steady batch and run it warm."""
        self._steady = SteadyPeer(self._model, SteadyLoad(num_running=num_running))
        for _ in range(num_warmup_steps):
            self._steady.time_step()
        freeze_heap()
        running, waiting = self._steady.scheduler.get_request_counts()
        return {"num_running": running, "num_waiting": waiting}

    def op_time_steady(self, num_rounds: int) -> dict[str, Any]:
        """Time steps of the open steady batch."""
        assert self._steady is not None, "open_steady comes first"
        steps = [self._steady.time_step() for _ in range(num_rounds)]
        return {key: [step[key] for step in steps] for key in ("step_us", "arrival_us")}

    def op_open_blocks(self, num_blocks: int, blocks_per_call: int) -> dict[str, Any]:
        """Build a pool for operations on lists of blocks_per_call blocks."""
        self._blocks = BlockPeer(
            self._model, num_blocks=num_blocks, blocks_per_call=blocks_per_call
        )
        freeze_heap()
        return {}

    def op_time_blocks(self, operation: str, num_calls: int, num_rounds: int) -> dict[str, Any]:
        """Time rounds of num_calls calls."""
        assert self._blocks is not None, "open_blocks comes first"
        blocks = self._blocks
        return {"round_us": [blocks.time_round(operation, num_calls) for _ in range(num_rounds)]}

    def op_open_prefix(self, num_tokens: int) -> dict[str, Any]:
        """Cache one prompt of num_tokens tokens."""
        self._prefix = PrefixPeer(self._model, num_tokens=num_tokens)
        freeze_heap()
        return {"hash": self._prefix.hash_name}

    def op_time_prefix(self, kind: str, num_rounds: int) -> dict[str, Any]:
        """Time look-ups of the cached prompt (`hit`) or of another (`miss`)."""
        assert self._prefix is not None, "open_prefix comes first"
        rounds = [self._prefix.time_round(kind) for _ in range(num_rounds)]
        return {key: [each[key] for each in rounds] for key in rounds[0]}

    def op_time_simulation(self, num_requests: int, num_rounds: int) -> dict[str, Any]:
        """Time whole runs of a saturated load."""
        load = SaturatedLoad(num_requests=num_requests)
        rounds = [time_simulation(self._model, load) for _ in range(num_rounds)]
        return {key: [each[key] for each in rounds] for key in rounds[0]}


def freeze_heap() -> None:
    """Exempt what is alive from garbage collection, as vLLM's engine does at its start."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve requests from standard input until it closes."""
    # Libraries print to standard output; answers need it for themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(make_model_config(Path(folder)))
        for line in sys.stdin:
            request = json.loads(line)
            result = service.answer(request.pop("op"), request)
            print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
