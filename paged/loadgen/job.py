"""Requests of a load: what is sent, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.workload.workload import FloatArray, Workload
from paged.loadgen.prompts import Prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request.

    prompt: a text, or token ids.
    due_s: when it arrives, from the start of the run; None where it waits for another to end.
    """

    index: int
    prompt: str | list[int]
    num_output_tokens: int
    due_s: float | None = None


def jobs_of(
    workload: Workload, prompts: Prompts, arrivals: FloatArray | None = None
) -> Iterator[Job]:
    """Iterate over a workload's requests by arrival, and those of one instant in order.

    arrivals[requests]: seconds; None lets each wait for another to end.
    """
    due = None if arrivals is None else arrivals.tolist()
    order = range(len(workload)) if arrivals is None else arrivals.argsort(kind="stable").tolist()
    for index in order:
        yield Job(
            index=index,
            prompt=prompts.prompt(index),
            num_output_tokens=int(workload.output_tokens[index]),
            due_s=None if due is None else due[index],
        )
