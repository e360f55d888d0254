"""A recorded run: what it says of itself, and its steps."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from paged.errors import RecordingError
from paged.recording.batch_codec import RecordedStep, take_step
from paged.recording.columns import ColumnReader
from paged.recording.framing import HEADER, Chunk, read_chunks
from paged.recording.header import Header
from paged.recording.schedule_state import ScheduleState


@dataclass(slots=True)
class Recording:
    """An open recording. Its steps can be read once."""

    name: str
    header: Header
    _chunks: Iterator[Chunk]

    def steps(self) -> Iterator[RecordedStep]:
        """Yield the steps. Tables and tokens of one hold until the next is asked for.

        Raises: RecordingError where the file is damaged or breaks off, after the steps before.
        """
        state = ScheduleState(self.header)
        for chunk in self._chunks:
            try:
                columns = ColumnReader(chunk.data)
                for _ in range(chunk.num_steps):
                    yield take_step(columns, state)
            except (IndexError, ValueError) as error:
                raise RecordingError(f"{self.name}: no batch can be like this: {error}") from error


@contextmanager
def open_recording(path: Path) -> Generator[Recording, None, None]:
    """Open a recording. Raises: RecordingError where the file is none, or has no step."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror}") from error
    with file:
        chunks = read_chunks(file, str(path))
        first = next(chunks, None)
        if first is None or first.kind != HEADER:
            raise RecordingError(f"{path}: expected at least one step, got none")
        yield Recording(str(path), Header.decode(first.data), chunks)
