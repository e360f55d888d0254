"""Pieces of requests that were sent together."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from paged.engine.outputs import OutputDelta
from paged.errors import EngineStopped
from paged.sampling_params import SamplingParams
from paged.scheduler.request import FinishReason, Request
from paged.server.submission import Submission


def _submission(given_up: list[Submission], *, counts: tuple[int, ...] = (1, 2)) -> Submission:
    requests = [
        Request(
            request_id=str(i),
            prompt_tokens=np.array([1], np.int32),
            max_new_tokens=4,
            num_sequences=n,
            sampling=SamplingParams(n=n),
        )
        for i, n in enumerate(counts)
    ]
    return Submission(requests, given_up.append)


def _delta(index: int, sequence: int, *, ends: bool = False) -> OutputDelta:
    reason = FinishReason.LENGTH if ends else None
    return OutputDelta(
        request_id=str(index), sequence_index=sequence, text="x", tokens=(1,), reason=reason
    )


def test_a_request_is_over_with_its_last_sequence() -> None:
    submission = _submission([])
    assert not submission.push(0, _delta(0, 0))
    assert submission.push(0, _delta(0, 0, ends=True))
    assert not submission.push(1, _delta(1, 1, ends=True))
    assert submission.push(1, _delta(1, 0, ends=True))


def test_pieces_come_together_until_all_has_ended() -> None:
    async def run() -> list[int]:
        submission = _submission([], counts=(1,))
        submission.push(0, _delta(0, 0))
        submission.push(0, _delta(0, 0))
        loop = asyncio.get_running_loop()
        loop.call_later(0.01, submission.push, 0, _delta(0, 0, ends=True))
        lengths: list[int] = []
        while (pieces := await submission.pieces()) is not None:
            lengths.append(len(pieces))
        return lengths

    assert asyncio.run(run()) == [2, 1]


def test_an_error_reaches_a_reader_that_waits() -> None:
    async def run() -> None:
        submission = _submission([])
        asyncio.get_running_loop().call_later(0.01, submission.fail, EngineStopped("it died"))
        with pytest.raises(EngineStopped, match="it died"):
            await submission.pieces()

    asyncio.run(run())


def test_leaving_the_block_gives_up() -> None:
    async def run() -> None:
        given_up: list[Submission] = []
        submission = _submission(given_up)
        with pytest.raises(ZeroDivisionError):
            async with submission:
                raise ZeroDivisionError
        assert given_up == [submission]

    asyncio.run(run())
