"""Where the time of an engine's steps goes: `python -m bench.steps`.

Serves the batch of `bench.peers` and lays out, for steps that compute prompts and for those that
only decode, the time of each operation of the model, with the Python that leads to it, and of what
lies outside the model. Decode is not run from recordings, for nobody would see its operations: its
share of Python is larger here than it is in use. Linear layers are beside the time that their
multiply-adds take at best, on equal threads and measured in the same run.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, cast

import torch

from bench.host_floor import NUM_PROBES, host_floor
from bench.peers.load import PeerLoad, ragged_load
from bench.peers.paged_worker import greedy
from bench.peers.weights import MODEL
from paged.engine.llm import LLM
from paged.engine.model_executor import ModelExecutor
from paged.engine.step_result import ModelStepResult
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.tap import watching
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler

WARM_UP_SHARE = 32
"""Outputs of the warm-up are so many times shorter: it is there for memory and plans."""

EXECUTOR, OUTSIDE = "inputs and draws", "scheduling and texts"


@dataclass(slots=True)
class Breakdown:
    """Steps of one kind. Seconds and multiply-adds by operation."""

    num_steps: int = 0
    num_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    macs: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))


class StepClock:
    """Observer, and tap, of an engine that computes a model.

    with_prompts, decode: what was seen of either kind of step.
    """

    def __init__(self, executor: ModelExecutor) -> None:
        self.with_prompts = Breakdown()
        self.decode = Breakdown()
        self._step = Breakdown()
        self._last_s = self._end_s = perf_counter()
        self._forward = executor.forward
        executor.forward = self._begin_model

    def _begin_model(self, *operands: Any) -> torch.Tensor:
        self._last_s = perf_counter()
        return self._forward(*operands)

    def see(
        self,
        name: str,
        operands: tuple[object, ...],
        _numbers: Mapping[str, object],
        _result: object,
    ) -> None:
        """Put the time since the operation before down to one that has run."""
        now_s = perf_counter()
        if name == "linear":
            x, weight = cast("tuple[torch.Tensor, LinearWeight]", operands)
            name = f"linear {weight.out_features}x{weight.in_features}"
            self._step.macs[name] += len(x) * weight.out_features * weight.in_features
        self._step.seconds[name] += now_s - self._last_s
        self._last_s = perf_counter()

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Add what was seen to the steps of its kind."""
        now_s = perf_counter()
        model_s = cast("ModelStepResult", result).model_s
        step = self._step
        step.seconds[EXECUTOR] += result.duration_s - model_s
        step.seconds[OUTSIDE] += max(0.0, now_s - self._end_s - result.duration_s)
        kind = self.with_prompts if batch.num_tokens > batch.num_seqs else self.decode
        kind.num_steps += 1
        kind.num_tokens += batch.num_tokens
        for into, of in ((kind.seconds, step.seconds), (kind.macs, step.macs)):
            for name, value in of.items():
                into[name] += value
        self._step, self._end_s = Breakdown(), now_s

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Do nothing: steps are what counts."""

    def clear(self) -> None:
        """Forget what was seen."""
        self.with_prompts, self.decode = Breakdown(), Breakdown()
        self._end_s = perf_counter()


def clocked(llm: LLM, load: PeerLoad, *, warm_up: PeerLoad) -> StepClock:
    """Serve a load, after another one that does not count, and return what its steps took.

    Mutates: the engine of llm, which is of no other use afterwards.
    """
    clock = StepClock(cast("ModelExecutor", llm.engine.executor))
    llm.engine.observers = (*llm.engine.observers, clock)
    with watching(clock.see):
        for each in (warm_up, load):
            clock.clear()
            llm.generate(each.prompts, greedy(each.output_tokens))
    return clock


def lines(title: str, steps: Breakdown, *, macs_per_s: float) -> list[str]:
    """Lay out a kind of step, the longest operation first."""
    total_s = sum(steps.seconds.values())
    if not steps.num_steps:
        return [f"{title}: none"]
    per_step_ms = 1e3 / steps.num_steps
    shown = [
        f"{title}: {steps.num_steps} steps of {steps.num_tokens / steps.num_steps:.0f} tokens,"
        f" {total_s:.2f} s, {total_s * per_step_ms:.1f} ms a step"
    ]
    for name, seconds in sorted(steps.seconds.items(), key=lambda item: -item[1]):
        line = f"  {name:22}{seconds * per_step_ms:9.2f} ms{seconds / total_s:7.1%}"
        if name in steps.macs:
            line += f"   {steps.macs[name] / macs_per_s / seconds:.2f} of multiply-adds' best"
        shown.append(line)
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Print where the time goes, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.steps",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=32, help="in the batch (default 32)")
    parser.add_argument("--tokens", type=int, default=256, help="of a step (default 256)")
    options = parser.parse_args(arguments)
    load = ragged_load(options.requests)
    llm = LLM(
        MODEL,
        device="cpu",
        max_num_seqs=options.requests,
        max_num_batched_tokens=options.tokens,
        enable_prefix_caching=False,
    )
    rate = host_floor(0, 2.0)
    before_us = min(rate(NUM_PROBES))
    clock = clocked(llm, load, warm_up=load.shortened(WARM_UP_SHARE))
    macs_per_s = 1e6 / min(before_us, *rate(NUM_PROBES))
    print("\n".join(lines("with prompts", clock.with_prompts, macs_per_s=macs_per_s)))
    print("\n".join(lines("decode alone", clock.decode, macs_per_s=macs_per_s)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
