"""Observer that writes the schedule in the trace format of Chrome and Perfetto.

Source: "Trace Event Format" (Google, 2016): complete events (X), counters (C) and
metadata (M). Open the file at ui.perfetto.dev or chrome://tracing.
"""

from __future__ import annotations

import json
from pathlib import Path

from paged.scheduler.batch import Admitted, Batch, Finished, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler

_ENGINE_PID = 1
_REQUESTS_PID = 2
_STEPS_TID = 0

Event = dict[str, object]


class _Track:
    """Where one request stands: the open span and the rows it holds."""

    __slots__ = ("num_unfinished", "phase", "rows", "since_s", "tid")

    def __init__(self, request: Request, tid: int) -> None:
        self.tid = tid
        self.phase = "queued"
        self.since_s = request.arrival_s
        self.rows: list[int] = []
        self.num_unfinished = request.num_sequences


class ChromeTrace:
    """Collects one track for the steps, one per request, and counters.

    The spans of a request are queued, prefill, decode and preempted; the counters are
    slots by class, running and waiting. Takes about 1 kB of memory per step.
    """

    def __init__(self) -> None:
        self._events: list[Event] = [
            _name_event("process_name", _ENGINE_PID, _STEPS_TID, "engine"),
            _name_event("thread_name", _ENGINE_PID, _STEPS_TID, "steps"),
            _name_event("process_name", _REQUESTS_PID, 0, "requests"),
        ]
        self._tracks: dict[str, _Track] = {}
        self._owner: dict[int, _Track] = {}
        self._next_tid = 1
        self._last_s = 0.0

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Record one step: its span, the counters, and which requests changed phase."""
        self._last_s = start_s + result.duration_s
        for admitted in batch.admitted:
            self._admit(admitted, start_s)
        self._follow(batch, start_s)
        self._events.append(_step_event(start_s, batch, result))
        usage = scheduler.allocator.usage(None).classes()
        self._count("KV slots", start_s, usage)
        queue = {"running": scheduler.num_running, "waiting": scheduler.num_waiting}
        self._count("requests", start_s, queue)

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Close the track of a request when the last of its sequences ends."""
        track = self._track(finished.request)
        track.num_unfinished -= 1
        if track.num_unfinished == 0:
            self._close_span(track, now_s)
            del self._tracks[finished.request.request_id]

    def to_json(self) -> str:
        """Render the trace; spans still open end with the last step."""
        open_spans = [_open_span(track, self._last_s) for track in self._tracks.values()]
        return json.dumps({"traceEvents": self._events + open_spans, "displayTimeUnit": "ms"})

    def write(self, path: Path) -> None:
        """Write the trace to a file. Raises OSError."""
        path.write_text(self.to_json(), encoding="utf-8")

    def _track(self, request: Request) -> _Track:
        track = self._tracks.get(request.request_id)
        if track is None:
            track = self._tracks[request.request_id] = _Track(request, self._next_tid)
            self._next_tid += 1
            label = f"request {request.request_id}"
            self._events.append(_name_event("thread_name", _REQUESTS_PID, track.tid, label))
        return track

    def _admit(self, admitted: Admitted, start_s: float) -> None:
        track = self._track(admitted.request)
        track.rows = admitted.rows.tolist()
        self._owner.update(dict.fromkeys(track.rows, track))
        self._switch(track, "prefill", start_s)

    def _follow(self, batch: Batch, start_s: float) -> None:
        """Switch the phase of every request that the step moved on or left out.

        A request swapped out keeps its rows and comes back without an admission. One
        preempted for recompute loses them, and the next owner takes its place.
        """
        present: set[int] = set(batch.rows.tolist())
        sampled: set[int] = set(batch.rows[batch.num_samples > 0].tolist())
        for track in self._tracks.values():
            rows = [row for row in track.rows if self._owner[row] is track]
            is_sampled = not sampled.isdisjoint(rows)
            if present.isdisjoint(rows):
                if batch.num_preempted and track.phase != "preempted":
                    self._switch(track, "preempted", start_s)
            elif track.phase == "preempted":
                self._switch(track, "decode" if is_sampled else "prefill", start_s)
            elif track.phase == "prefill" and is_sampled:
                self._switch(track, "decode", self._last_s)

    def _switch(self, track: _Track, phase: str, at_s: float) -> None:
        self._close_span(track, at_s)
        track.phase = phase

    def _close_span(self, track: _Track, at_s: float) -> None:
        self._events.append(_open_span(track, at_s))
        track.since_s = at_s

    def _count(self, name: str, at_s: float, values: dict[str, int]) -> None:
        event: Event = {"name": name, "ph": "C", "pid": _ENGINE_PID, "ts": at_s * 1e6}
        self._events.append(event | {"args": values})


def _name_event(kind: str, pid: int, tid: int, label: str) -> Event:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": label}}


def _span(name: str, pid: int, tid: int, start_s: float, end_s: float) -> Event:
    duration_us = (end_s - start_s) * 1e6
    where: Event = {"name": name, "ph": "X", "pid": pid, "tid": tid}
    return where | {"ts": start_s * 1e6, "dur": duration_us}


def _open_span(track: _Track, end_s: float) -> Event:
    return _span(track.phase, _REQUESTS_PID, track.tid, track.since_s, end_s)


def _step_event(start_s: float, batch: Batch, result: StepResult) -> Event:
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
    end_s = start_s + result.duration_s
    event = _span(f"{num_tokens} tokens", _ENGINE_PID, _STEPS_TID, start_s, end_s)
    return event | {"args": args}
