"""The recorder writes some steps at a time, and all of them when the engine falls idle."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from paged.errors import RecordingError
from paged.recording import recorder as recorder_module
from paged.recording.framing import HEADER, STEPS, read_contents
from paged.recording.header import RecordedModel
from paged.recording.recorder import BatchRecorder, open_recorder, recording_to
from paged.recording.recording import open_recording
from tests.helpers.recorded_runs import make_engine, random_requests

MODEL = RecordedModel(name="m", num_heads=8, num_kv_heads=2, head_dim=64)


def _serve(recorder: BatchRecorder, num_requests: int) -> None:
    engine = make_engine(recorder)
    for request in random_requests(0, num_requests):
        engine.add_request(request)
    while engine.has_work:
        engine.step()


def test_when_the_engine_falls_idle_all_steps_are_in_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder_module, "STEPS_PER_CHUNK", 10)
    file = io.BytesIO()
    _serve(BatchRecorder(file), 6)
    file.seek(0)
    contents = read_contents(file, "run")
    found = contents.chunks
    assert "breaks off" in (contents.fault or "")
    assert [chunk.kind for chunk in found] == [HEADER, *[STEPS] * (len(found) - 1)]
    assert [chunk.num_steps for chunk in found[1:-1]] == [10] * (len(found) - 2)
    assert found[-1].num_steps % 10


def test_the_file_is_whole_when_the_block_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), recording_to(tmp_path / "run", model=MODEL) as recorder:  # noqa: PT012
        _serve(recorder, 2)
        raise KeyError
    with open_recording(tmp_path / "run") as recording:
        assert recording.header.model == MODEL
        assert len(list(recording.steps())) > 3


def test_closing_again_does_nothing(tmp_path: Path) -> None:
    recorder = open_recorder(tmp_path / "run")
    _serve(recorder, 1)
    recorder.close()
    size = (tmp_path / "run").stat().st_size
    recorder.close()
    assert (tmp_path / "run").stat().st_size == size


def test_a_file_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot write a recording to"):
        open_recorder(tmp_path / "no folder" / "run")
