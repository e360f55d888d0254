"""Random streams: repeatable, and independent of each other."""

from __future__ import annotations

from experiments.workload.streams import Stream, make_stream


def test_equal_seeds_repeat() -> None:
    first = make_stream(5, Stream.LENGTHS).random(8)
    assert (make_stream(5, Stream.LENGTHS).random(8) == first).all()


def test_streams_and_seeds_differ() -> None:
    starts = {make_stream(seed, stream).random() for seed in range(4) for stream in Stream}
    assert len(starts) == 4 * len(Stream)
