"""A run: each job at its time, and as many at once as may be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter

from paged.loadgen.job import Job
from paged.loadgen.record import Record

Send = Callable[[Job], Awaitable[Record]]


async def drive(
    jobs: Iterable[Job],
    send: Send,
    *,
    start_s: float,
    max_concurrency: int | None,
    on_record: Callable[[Record], None],
) -> None:
    """Send jobs, each when it is due however slow the server is, and wait for all of them.

    start_s: what times of jobs count from, on the process's clock.
    max_concurrency: jobs at once; those that are due wait here meanwhile, and their users with
        them. None is no limit.
    """
    places = None if max_concurrency is None else asyncio.Semaphore(max_concurrency)

    async def run(job: Job) -> None:
        try:
            on_record(await send(job))
        finally:
            if places is not None:
                places.release()

    async with asyncio.TaskGroup() as group:
        for job in jobs:
            if job.due_s is not None:
                await asyncio.sleep(start_s + job.due_s - perf_counter())
            if places is not None:
                await places.acquire()
            group.create_task(run(job))
