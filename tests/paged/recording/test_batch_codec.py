"""A step is written as what differs from the one before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.recording.batch_codec import RecordedStep, put_step, take_step
from paged.recording.columns import ColumnReader, ColumnWriter
from paged.recording.header import Header
from paged.recording.recording import open_recording
from paged.recording.schedule_state import ScheduleState
from tests.helpers.recorded_runs import contents, random_requests, record


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a recording of one request of many tokens."""
    record(tmp_path / "run", random_requests(5, 1))
    return tmp_path / "run"


def _header(run: Path) -> Header:
    with open_recording(run) as recording:
        return recording.header


def test_steps_by_themselves_read_back(run: Path) -> None:
    header = _header(run)
    written, read = ScheduleState(header), ScheduleState(header)
    with open_recording(run) as recording:
        for step in recording.steps():
            out = ColumnWriter()
            put_step(out, written, step)
            again = take_step(ColumnReader(out.encode()), read)
            assert contents(again.batch) == contents(step.batch)
            assert (again.start_s, again.duration_s) == (step.start_s, step.duration_s)


def test_a_step_as_the_state_expects_it_is_all_zeros(run: Path) -> None:
    state = ScheduleState(_header(run))
    last: RecordedStep | None = None
    with open_recording(run) as recording:
        for step in recording.steps():
            put_step(ColumnWriter(), state, step)
            last = step
    assert last is not None
    state.num_computed[last.batch.rows] = last.batch.num_computed
    out = ColumnWriter()
    put_step(out, state, last)
    columns = ColumnReader(out.encode())
    assert columns.take_int("num_computed") == 0
    assert columns.take_int("num_new_blocks") == 0
    assert columns.take_int("token") == 0
