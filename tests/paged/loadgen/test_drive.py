"""Jobs at their times: whatever the server does, and as many at once as may be."""

from __future__ import annotations

import asyncio
from time import perf_counter

import pytest

from paged.loadgen.drive import drive
from paged.loadgen.job import Job
from paged.loadgen.record import Record


class _Server:
    """Answers after a time, and not before num_awaited jobs came; and counts."""

    def __init__(self, answer_s: float, *, num_awaited: int = 0) -> None:
        self.answer_s = answer_s
        self._num_awaited = num_awaited
        self._all_came = asyncio.Event()
        self.num_now = 0
        self.most = 0
        self.sent_s: list[float] = []
        self.order: list[int] = []
        self.start_s = 0.0

    async def send(self, job: Job) -> Record:
        sent_s = perf_counter() - self.start_s
        self.sent_s.append(sent_s)
        self.order.append(job.index)
        self.num_now += 1
        self.most = max(self.most, self.num_now)
        if len(self.order) >= self._num_awaited:
            self._all_came.set()
        async with asyncio.timeout(20):
            await self._all_came.wait()
        await asyncio.sleep(self.answer_s)
        self.num_now -= 1
        return Record(
            index=job.index,
            due_s=job.due_s,
            sent_s=sent_s,
            first_s=sent_s,
            end_s=perf_counter() - self.start_s,
            num_prompt_tokens=1,
            num_output_tokens=1,
        )

    def run(self, jobs: list[Job], *, max_concurrency: int | None = None) -> list[Record]:
        records: list[Record] = []

        async def run() -> None:
            self.start_s = perf_counter()
            await drive(
                jobs,
                self.send,
                start_s=self.start_s,
                max_concurrency=max_concurrency,
                on_record=records.append,
            )

        asyncio.run(run())
        return records


def _jobs(*due_s: float | None) -> list[Job]:
    return [
        Job(index=index, prompt="a", num_output_tokens=1, due_s=each)
        for index, each in enumerate(due_s)
    ]


def test_jobs_are_sent_when_they_are_due_however_slow_the_server_is() -> None:
    server = _Server(answer_s=0.0, num_awaited=4)
    records = server.run(_jobs(0.0, 0.05, 0.1, 0.15))
    assert server.order == [0, 1, 2, 3]
    assert server.most == 4
    assert len(records) == 4
    assert all(
        record.due_s is not None and record.sent_s >= record.due_s - 0.001 for record in records
    )


def test_jobs_without_a_time_wait_for_others() -> None:
    server = _Server(answer_s=0.05)
    records = server.run(_jobs(*[None] * 7), max_concurrency=3)
    assert (len(records), server.most) == (7, 3)
    assert max(server.sent_s) >= 0.1


def test_a_user_waits_from_when_a_job_is_due_and_not_from_when_it_is_sent() -> None:
    """Coordinated omission: what a full client keeps back is part of the latency."""
    server = _Server(answer_s=0.2)
    records = server.run(_jobs(0.0, 0.0, 0.0), max_concurrency=1)
    latencies = sorted(record.latency_s for record in records)
    assert latencies[0] >= 0.2
    assert latencies[1] >= 0.4
    assert latencies[2] >= 0.6
    assert all(record.latency_s > record.end_s - record.sent_s for record in records[1:])


def test_a_bug_ends_the_run() -> None:
    server = _Server(answer_s=0.0)

    async def broken(_job: Job) -> Record:
        raise ArithmeticError

    server.send = broken  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup):
        server.run(_jobs(None, None), max_concurrency=1)
