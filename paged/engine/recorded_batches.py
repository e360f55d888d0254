"""An engine whose batches are written to a file."""

from __future__ import annotations

from pathlib import Path
from weakref import finalize

from model_zoo.config import ModelConfig
from paged.engine.engine import Engine
from paged.recording.header import RecordedModel
from paged.recording.recorder import open_recorder


def record_batches(engine: Engine, path: Path, config: ModelConfig, *, name: str) -> None:
    """Let an engine write its batches; the file is whole once the engine or the program is over.

    name: what the recording calls the model.
    Mutates: engine, which gets an observer. Raises: RecordingError where there cannot be a file.
    """
    recorder = open_recorder(path, model=recorded_model(config, name=name))
    engine.observers = (*engine.observers, recorder)
    finalize(engine, recorder.close)


def recorded_model(config: ModelConfig, *, name: str) -> RecordedModel:
    """Return what a recording says of a model."""
    return RecordedModel(
        name=name,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        windows=tuple(group.window for group in config.kv_groups),
    )
