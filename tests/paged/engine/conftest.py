"""Hand-made batches for the parts of the engine that only read them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest

from paged.allocator.block_table import BlockTables
from paged.scheduler.batch import Admitted, Batch
from paged.scheduler.request import Request, length_only_prompt


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Yield what interrupts this process; workers of pytest-xdist ignore it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield partial(signal.raise_signal, signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def make_request() -> Callable[..., Request]:
    """Return a factory of requests without token ids."""

    def make(
        request_id: str, prompt: int, output: int | None, *, num_sequences: int = 1
    ) -> Request:
        return Request(
            request_id=request_id,
            prompt_tokens=length_only_prompt(prompt),
            max_new_tokens=64,
            final_new_tokens=output,
            num_sequences=num_sequences,
        )

    return make


@pytest.fixture
def make_admitted() -> Callable[..., Admitted]:
    """Return a factory of admissions."""

    def make(request: Request, rows: Sequence[int], *, is_resumed: bool = False) -> Admitted:
        return Admitted(
            request=request,
            rows=np.array(rows, np.int64),
            sequence_indices=tuple(range(len(rows))),
            num_cached_tokens=0,
            is_resumed=is_resumed,
        )

    return make


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    """Return a factory of batches from (row, computed, scheduled, samples) tuples."""
    tables = BlockTables(max_rows=8, max_model_len=128, block_size=16)

    def make(
        *sequences: tuple[int, int, int, int],
        admitted: Sequence[Admitted] = (),
        num_preempted: int = 0,
    ) -> Batch:
        columns = np.array(sequences, np.int64).reshape(-1, 4).T
        return Batch(
            step=0,
            rows=columns[0],
            num_computed=columns[1],
            num_scheduled=columns[2],
            num_samples=columns[3],
            num_drawn=int(columns[3].sum()),
            group_tables=(tables,),
            tokens=np.zeros((8, 128), np.int32),
            admitted=tuple(admitted),
            num_preempted=num_preempted,
        )

    return make
