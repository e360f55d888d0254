"""A whole run: a workload sent to a server, summed up and written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from experiments.workload.synthetic import MakeWorkload
from experiments.workload.workload import FloatArray, Workload
from paged.loadgen.bar import Bar
from paged.loadgen.client import Client, Target
from paged.loadgen.drive import drive
from paged.loadgen.job import jobs_of
from paged.loadgen.prompts import Prompts
from paged.loadgen.record import Record
from paged.loadgen.summary import Objective, Summary, summarize


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Load:
    """What is sent, and when.

    arrivals[requests]: seconds; None lets each request wait for another to end.
    max_concurrency: requests at once; None is no limit.
    """

    workload: Workload
    prompts: Prompts
    arrivals: FloatArray | None
    max_concurrency: int | None

    @property
    def description(self) -> str:
        """The load in one line."""
        count = len(self.workload)
        limit = "" if self.max_concurrency is None else f", {self.max_concurrency} at once"
        if self.arrivals is None:
            return f"{count} requests of {self.workload.name}{limit}, each when another ends"
        span_s = float(self.arrivals.max())
        return f"{count} requests of {self.workload.name} within {span_s:.1f} s{limit}"


@dataclass(slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of a run. records: of requests that ended, in the order they did."""

    summary: Summary
    records: list[Record]
    was_interrupted: bool

    def write(self, folder: Path, load: Load, target: Target, *, seed: int) -> None:
        """Write the report and its picture into a folder. seed: of all that was drawn."""
        from experiments.report.load_figure import draw_load
        from paged.loadgen.report import write_report

        settings: dict[str, object] = {
            "server": target.base_url,
            "model": target.model,
            "endpoint": target.endpoint,
            "extra": dict(target.extra),
            "load": load.description,
            "workload": load.workload.source,
            "max_concurrency": load.max_concurrency,
            "seed": seed,
            "was_interrupted": self.was_interrupted,
        }
        write_report(folder, self.records, self.summary, settings)
        regime = f"{target.model} at {target.base_url}: {load.description}"
        draw_load(folder, title="Load on a server", regime=regime)


def fixed_lengths(num_prompt_tokens: int, num_output_tokens: int) -> MakeWorkload:
    """Return what makes workloads of requests that are all alike."""

    def make(seed: int, num_requests: int) -> Workload:
        return Workload(
            name=f"{num_prompt_tokens}+{num_output_tokens} tokens",
            source=f"{num_prompt_tokens} prompt and {num_output_tokens} output tokens each;"
            f" seed {seed}",
            prompt_tokens=np.full(max(0, num_requests), num_prompt_tokens, np.int64),
            output_tokens=np.full(max(0, num_requests), num_output_tokens, np.int64),
            num_rows_read=max(0, num_requests),
        )

    return make


def run_load(load: Load, target: Target, objective: Objective) -> Outcome:
    """Send a load and wait for its end; an interrupt ends it early with what there is."""
    records: list[Record] = []
    was_interrupted = False
    with Bar(len(load.workload)) as bar:

        def keep(record: Record) -> None:
            records.append(record)
            bar.take(record)

        try:
            asyncio.run(_run(load, target, keep))
        except KeyboardInterrupt:
            was_interrupted = True
    return Outcome(
        summary=summarize(records, objective), records=records, was_interrupted=was_interrupted
    )


async def _run(load: Load, target: Target, keep: Callable[[Record], None]) -> None:
    async with target.session() as session:
        start_s = perf_counter()
        client = Client(session, target, start_s=start_s)
        await drive(
            jobs_of(load.workload, load.prompts, load.arrivals),
            client.send,
            start_s=start_s,
            max_concurrency=load.max_concurrency,
            on_record=keep,
        )
