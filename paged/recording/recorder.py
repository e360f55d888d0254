"""Observer that writes every batch of a run to a file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from paged.errors import RecordingError
from paged.recording.batch_codec import RecordedStep, put_step
from paged.recording.columns import ColumnWriter
from paged.recording.framing import END, HEADER, STEPS, write_chunk, write_start
from paged.recording.header import Header, RecordedModel
from paged.recording.schedule_state import ScheduleState
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler

STEPS_PER_CHUNK = 512
"""As many steps are lost, at most, where a run is killed. Fewer take more bytes each: a chunk says
all of the rows it meets anew, so that it can be read alone."""


class BatchRecorder:
    """Writes the batches of one engine, some at a time, and those at hand when it falls idle.

    Memory: block tables and tokens of all rows once more, and a chunk. Call `close` at the end:
    a recording without its end is one that broke off.
    Raises: OSError where the disk does not take it. Then `abandon` it: a step that was written in
        part is not written again.
    """

    def __init__(self, file: BinaryIO, *, model: RecordedModel | None = None) -> None:
        self._file = file
        self._model = model
        self._header: Header | None = None
        self._state: ScheduleState | None = None
        self._scheduler: Scheduler | None = None
        self._columns = ColumnWriter()
        self._num_steps = 0
        write_start(file)

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Write one step."""
        if self._header is None:
            self._header, self._scheduler = self._begin(batch, scheduler), scheduler
        if self._state is None:
            self._state = ScheduleState(self._header)
        step = RecordedStep(batch=batch, start_s=start_s, duration_s=result.duration_s)
        put_step(self._columns, self._state, step)
        self._num_steps += 1
        if self._num_steps == STEPS_PER_CHUNK:
            self.flush()

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Write what is at hand when the last request has left: nothing may come for long."""
        if self._scheduler is not None and not self._scheduler.has_work:
            self.flush()

    def flush(self) -> None:
        """Write the steps at hand to the file."""
        if self._num_steps:
            data = self._columns.encode()
            write_chunk(self._file, STEPS, data, num_steps=self._num_steps)
            self._columns, self._state, self._num_steps = ColumnWriter(), None, 0

    def close(self) -> None:
        """Write what is left, and the end, and close the file; again it does nothing."""
        if self._file.closed:
            return
        with self._file:
            self.flush()
            write_chunk(self._file, END, b"")

    def abandon(self) -> None:
        """Close the file as it is, after an error: what was not written is lost."""
        with suppress(OSError):
            self._file.close()

    def _begin(self, batch: Batch, scheduler: Scheduler) -> Header:
        allocator = scheduler.allocator
        header = Header(
            allocator=allocator.name,
            block_size=allocator.block_size,
            num_blocks=allocator.num_blocks,
            num_groups=len(allocator.group_tables),
            max_rows=allocator.tables.max_rows,
            max_row_tokens=batch.tokens.shape[1],
            model=self._model,
        )
        write_chunk(self._file, HEADER, header.encode())
        return header


def open_recorder(path: Path, *, model: RecordedModel | None = None) -> BatchRecorder:
    """Return a recorder to a new file. Raises: RecordingError where there cannot be one."""
    try:
        return BatchRecorder(path.open("wb"), model=model)
    except OSError as error:
        raise RecordingError(f"cannot write a recording to {path}: {error.strerror}") from error


@contextmanager
def recording_to(
    path: Path, *, model: RecordedModel | None = None
) -> Generator[BatchRecorder, None, None]:
    """Yield a recorder to a new file, which is whole when the block ends, by an error or not.

    Raises: RecordingError where there cannot be a file.
    """
    recorder = open_recorder(path, model=model)
    try:
        yield recorder
    finally:
        recorder.close()
