"""`record`: an LLM's batches in a file, whatever ends the LLM."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from paged.engine.model_engine import make_engine
from paged.errors import RecordingError
from paged.recording.recorder import BatchRecorder
from paged.recording.recording import open_recording
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import tiny_llm, tiny_model

PARAMS = SamplingParams(max_tokens=7, n=2, seed=1, temperature=1.0, ignore_eos=True)


def test_batches_of_an_llm_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run"
    llm = tiny_llm(record=str(path))
    llm.generate(["hello", "a longer prompt"], PARAMS)
    del llm
    gc.collect()
    with open_recording(path) as recording:
        batches = [(step.batch.num_tokens, step.batch.num_drawn) for step in recording.steps()]
        model = recording.header.model
    config = tiny_model().config
    assert model is not None
    assert model.name == tiny_model().name == "tiny"
    assert (model.num_heads, model.head_dim) == (config.num_heads, config.head_dim)
    assert model.windows == (None,)
    assert batches[0] == (len("hello") + len("a longer prompt") + 2, 4)
    assert batches[1:] == [(4, 4)] * 6


def test_an_engine_without_a_file_has_no_recorder() -> None:
    observers = tiny_llm().engine.observers
    assert not any(isinstance(each, BatchRecorder) for each in observers)


def test_the_file_is_whole_when_the_program_ends(tmp_path: Path) -> None:
    program = (
        "from tests.helpers.tiny_llm import tiny_llm\n"
        f"llm = tiny_llm(record={str(tmp_path / 'run')!r})\n"
        "llm.generate('hello')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with open_recording(tmp_path / "run") as recording:
        assert list(recording.steps())


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    llm = tiny_llm()
    with pytest.raises(RecordingError, match="cannot write a recording"):
        make_engine(
            llm.config.__class__(model="tiny", record=str(tmp_path / "none" / "run")),
            tiny_model(),
            on_failure=print,
        )
