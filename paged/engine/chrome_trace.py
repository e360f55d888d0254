"""Observer that writes the schedule in the trace format of Chrome and Perfetto.

Source: "Trace Event Format" (Google, 2016): complete events (X), counters (C) and
metadata (M). Open the file, packed as it is, at ui.perfetto.dev or chrome://tracing.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from paged.scheduler.batch import Admitted, Batch, Finished, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

_ENGINE_PID = 1
_REQUESTS_PID = 2
_ENGINE_TID = 0
_ENCODER = json.JSONEncoder(separators=(",", ":"))

Event = dict[str, object]


class _Track:
    """Where one request stands.

    phase, since_s: the span that is open. stopped_s: when it was taken off, if it is.
    rows: by index of the sequence that they carry.
    """

    __slots__ = ("num_unfinished", "phase", "rows", "since_s", "stopped_s", "tid")

    def __init__(self, request: Request, tid: int) -> None:
        self.tid = tid
        self.phase = "queued"
        self.since_s = request.arrival_s
        self.stopped_s: float | None = None
        self.rows: dict[int, int] = {}
        self.num_unfinished = request.num_sequences


@contextmanager
def chrome_trace(path: Path) -> Generator[ChromeTrace, None, None]:
    """Yield a trace that is written to a gzip file as it grows.

    The file is whole when the context ends, with an exception or without. Equal
    schedules give equal bytes. Raises: OSError.
    """
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        TextIOWrapper(packed, encoding="utf-8", newline="\n") as text,
    ):
        trace = ChromeTrace(text)
        try:
            yield trace
        finally:
            trace.close()


class ChromeTrace:
    """Writes one track for the steps, one per request, and counters.

    The spans of a request are queued, prefill, decode and preempted, without a gap from
    its arrival to its end; it appears with its first span. Counters are slots by class
    and requests by state, at the start of each step and whenever the last request has
    left. Times are whole us, so that spans meet exactly. Memory: O(live requests).
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._tracks: dict[str, _Track] = {}
        self._owner: dict[int, _Track] = {}
        self._running: set[int] = set()
        self._num_tracks = 0
        self._start_s = 0.0
        self._end_s = 0.0
        self._scheduler: Scheduler | None = None
        engine = _name_event("process_name", _ENGINE_PID, _ENGINE_TID, "engine")
        file.write('{"displayTimeUnit":"ms","traceEvents":[\n' + _ENCODER.encode(engine))
        self._write(_name_event("thread_name", _ENGINE_PID, _ENGINE_TID, "steps"))
        self._write(_name_event("process_name", _REQUESTS_PID, 0, "requests"))

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Write one step: its span, the counters, and which requests changed phase."""
        self._start_s, self._end_s = start_s, start_s + result.duration_s
        self._scheduler = scheduler
        running = set[int](scheduler.running_rows.tolist())
        for row in self._running - running:
            self._take_off(row)
        for admitted in batch.admitted:
            self._admit(admitted)
        for row in running - self._running:
            self._swap_in(row)
        self._running = running
        for row in batch.rows[batch.num_samples > 0].tolist():
            track = self._owner.get(row)
            if track is not None and track.phase == "prefill":
                self._switch(track, "decode", self._end_s)
        self._write(_step_event(self._start_s, self._end_s, batch, result))
        self._count(start_s, scheduler)

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Close the track of a request when the last of its sequences ends."""
        track = self._track(finished.request)
        row = track.rows.pop(finished.sequence_index, None)
        if row is not None and self._owner.get(row) is track:
            del self._owner[row]
        track.num_unfinished -= 1
        if track.num_unfinished:
            return
        # One taken off in the very step that reports its end was over when the step began.
        is_over = track.stopped_s == self._start_s
        self._close_span(track, self._start_s if is_over else now_s)
        del self._tracks[finished.request.request_id]
        scheduler = self._scheduler
        if scheduler is not None and not scheduler.has_work and not self._tracks:
            self._count(now_s, scheduler)

    def close(self) -> None:
        """End the spans still open with the last step, and the file. Call it once."""
        for track in self._tracks.values():
            self._close_span(track, self._end_s)
        self._file.write("\n]}\n")

    def _track(self, request: Request) -> _Track:
        track = self._tracks.get(request.request_id)
        if track is None:
            self._num_tracks += 1
            track = self._tracks[request.request_id] = _Track(request, self._num_tracks)
            label = f"request {request.request_id}"
            self._write(_name_event("thread_name", _REQUESTS_PID, track.tid, label))
        return track

    def _admit(self, admitted: Admitted) -> None:
        track = self._track(admitted.request)
        rows: list[int] = admitted.rows.tolist()
        track.rows = dict(zip(admitted.sequence_indices, rows, strict=True))
        self._owner.update(dict.fromkeys(rows, track))
        self._switch(track, "prefill", self._start_s)

    def _take_off(self, row: int) -> None:
        """Note that the owner of a row no longer takes part; all its rows go together."""
        track = self._owner.get(row)
        if track is not None and track.stopped_s is None:
            track.stopped_s = self._start_s

    def _swap_in(self, row: int) -> None:
        """Let the owner of a row, which has kept it, go on where it was taken off."""
        track = self._owner.get(row)
        if track is not None and track.stopped_s is not None:
            self._switch(track, track.phase, self._start_s)

    def _switch(self, track: _Track, phase: str, at_s: float) -> None:
        self._close_span(track, at_s)
        track.phase, track.since_s, track.stopped_s = phase, at_s, None

    def _close_span(self, track: _Track, at_s: float) -> None:
        """Write the open span, and the time since the request was taken off."""
        stopped_s = at_s if track.stopped_s is None else track.stopped_s
        self._write(_request_event(track.phase, track, track.since_s, stopped_s))
        if stopped_s < at_s:
            self._write(_request_event("preempted", track, stopped_s, at_s))

    def _count(self, at_s: float, scheduler: Scheduler) -> None:
        states = {
            "running": scheduler.num_running,
            "waiting": scheduler.num_waiting,
            "swapped": scheduler.num_swapped,
        }
        slots = scheduler.allocator.usage(None).classes()
        for name, values in (("KV slots", slots), ("requests", states)):
            event = _event(name, "C", _ENGINE_PID, _ENGINE_TID, at_s)
            self._write(event | {"args": values})

    def _write(self, event: Event) -> None:
        self._file.write(",\n" + _ENCODER.encode(event))


def _microseconds(time_s: float) -> int:
    return round(time_s * 1e6)


def _event(name: str, kind: str, pid: int, tid: int, at_s: float) -> Event:
    return {"name": name, "ph": kind, "pid": pid, "tid": tid, "ts": _microseconds(at_s)}


def _name_event(kind: str, pid: int, tid: int, label: str) -> Event:
    return _event(kind, "M", pid, tid, 0.0) | {"args": {"name": label}}


def _span(name: str, pid: int, tid: int, start_s: float, end_s: float) -> Event:
    duration_us = _microseconds(end_s) - _microseconds(start_s)
    return _event(name, "X", pid, tid, start_s) | {"dur": duration_us}


def _request_event(phase: str, track: _Track, start_s: float, end_s: float) -> Event:
    return _span(phase, _REQUESTS_PID, track.tid, start_s, end_s)


def _step_event(start_s: float, end_s: float, batch: Batch, result: StepResult) -> Event:
    num_tokens = batch.num_tokens
    args: Event = {
        "step": batch.step,
        "tokens": num_tokens,
        "sequences": batch.num_seqs,
        "context_tokens": batch.num_context_tokens,
        "sampled_tokens": len(result.tokens),
        "preempted": batch.num_preempted,
        "recomputed_tokens": batch.num_recomputed_tokens,
        "blocked": batch.blocked.value,
    }
    event = _span(f"{num_tokens} tokens", _ENGINE_PID, _ENGINE_TID, start_s, end_s)
    return event | {"args": args}
