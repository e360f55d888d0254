"""Independent random streams of one seed."""

from __future__ import annotations

import enum

import numpy as np


class Stream(enum.Enum):
    """What a stream is for; drawing from one never shifts another."""

    LENGTHS = 0
    ARRIVALS = 1
    SAMPLING = 2


def make_stream(seed: int, stream: Stream) -> np.random.Generator:
    """Return the generator of one purpose: a spawned child of the seed's sequence."""
    children = np.random.SeedSequence(seed).spawn(len(Stream))
    return np.random.default_rng(children[stream.value])
