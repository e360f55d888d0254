"""An engine whose batches are written to a file."""

from __future__ import annotations

import logging
from pathlib import Path
from weakref import finalize

from model_zoo.config import ModelConfig
from paged.engine.engine import Engine
from paged.recording.header import RecordedModel
from paged.recording.recorder import BatchRecorder, open_recorder
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler

_log = logging.getLogger("paged.engine")


class RecordedBatches:
    """Observer that hands steps to a recorder for as long as the disk takes them.

    A disk that is full ends the recording, and no request: the log says so, once.
    """

    def __init__(self, recorder: BatchRecorder, path: Path) -> None:
        self._recorder: BatchRecorder | None = recorder
        self._path = path

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Record one step."""
        if self._recorder is None:
            return
        try:
            self._recorder.on_step(start_s=start_s, batch=batch, result=result, scheduler=scheduler)
        except OSError as error:
            self._give_up(self._recorder, error)

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Let what is at hand reach the file where the engine falls idle."""
        if self._recorder is None:
            return
        try:
            self._recorder.on_finished(finished, now_s=now_s)
        except OSError as error:
            self._give_up(self._recorder, error)

    def close(self) -> None:
        """Write what is left, and the end."""
        if self._recorder is None:
            return
        try:
            self._recorder.close()
        except OSError as error:
            self._give_up(self._recorder, error)

    def _give_up(self, recorder: BatchRecorder, error: OSError) -> None:
        self._recorder = None
        recorder.abandon()
        _log.error("the recording breaks off: %s takes no more: %s", self._path, error.strerror)


def record_batches(engine: Engine, path: Path, config: ModelConfig, *, name: str) -> None:
    """Let an engine write its batches; the file is whole once the engine or the program is over.

    name: what the recording calls the model.
    Mutates: engine, which gets an observer. Raises: RecordingError where there cannot be a file.
    """
    recorder = open_recorder(path, model=recorded_model(config, name=name))
    observer = RecordedBatches(recorder, path)
    engine.observers = (*engine.observers, observer)
    finalize(engine, observer.close)


def recorded_model(config: ModelConfig, *, name: str) -> RecordedModel:
    """Return what a recording says of a model."""
    return RecordedModel(
        name=name,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        windows=tuple(group.window for group in config.kv_groups),
    )
