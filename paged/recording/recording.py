"""A recorded run: what it says of itself, and its steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from paged.errors import RecordingError
from paged.recording.batch_codec import RecordedStep, take_move_counts, take_step
from paged.recording.columns import ColumnReader
from paged.recording.framing import HEADER, ChunkPlace, Contents, read_chunk, read_contents
from paged.recording.header import Header
from paged.recording.schedule_state import ScheduleState
from paged.types import IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An open recording."""

    header: Header
    contents: Contents
    file: BinaryIO

    @property
    def num_steps(self) -> int:
        """Steps in all, as far as the file goes."""
        return sum(chunk.num_steps for chunk in self.contents.chunks)

    def steps(self) -> Iterator[RecordedStep]:
        """Yield all steps. Tables and tokens of one hold until the next is asked for.

        Raises: RecordingError where the file is damaged or breaks off, after the steps before.
        """
        yield from self.steps_at(range(self.num_steps))
        if self.contents.fault is not None:
            raise RecordingError(self.contents.fault)

    def steps_at(self, places: Sequence[int]) -> Iterator[RecordedStep]:
        """Yield the steps at these places, ascending from 0; chunks without any are not read.

        Raises: RecordingError where the file is damaged, after the steps before.
        """
        for chunk in self.contents.chunks[1:]:
            end = chunk.first_step + chunk.num_steps
            first = bisect_left(places, chunk.first_step)
            wanted = places[first : bisect_left(places, end, first)]
            if wanted:
                yield from self._steps_of(chunk, wanted)

    def num_moves(self, names: Sequence[str]) -> IndexArray:
        """Return for each step how many blocks it moves in these moves of a `Batch`. Reads all.

        Raises: RecordingError where the file is damaged.
        """
        counts = np.zeros(self.num_steps, np.int64)
        for chunk in self.contents.chunks[1:]:
            columns = ColumnReader(read_chunk(self.file, self.contents.name, chunk))
            span = slice(chunk.first_step, chunk.first_step + chunk.num_steps)
            for name in names:
                counts[span] += take_move_counts(columns, name, chunk.num_steps)
        return counts

    def _steps_of(self, chunk: ChunkPlace, wanted: Sequence[int]) -> Iterator[RecordedStep]:
        name = self.contents.name
        data = read_chunk(self.file, name, chunk)
        try:
            state = ScheduleState(self.header)
            columns = ColumnReader(data)
            for place in range(chunk.first_step, wanted[-1] + 1):
                step = take_step(columns, state)
                if place in wanted:
                    yield step
        except (IndexError, ValueError, OverflowError, TypeError, MemoryError) as error:
            raise RecordingError(f"{name}: no batch can be like this: {error}") from error


@contextmanager
def open_recording(path: Path) -> Generator[Recording, None, None]:
    """Open a recording. Raises: RecordingError where the file is none, or has no step."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror}") from error
    with file:
        contents = read_contents(file, str(path))
        if not contents.chunks or contents.chunks[0].kind != HEADER:
            raise RecordingError(f"{path}: expected at least one step, got none")
        header = Header.decode(read_chunk(file, str(path), contents.chunks[0]))
        yield Recording(header=header, contents=contents, file=file)
