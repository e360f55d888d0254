"""`record`: an LLM's batches in a file, whatever ends the LLM."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from paged.engine.model_engine import make_engine
from paged.engine.recorded_batches import RecordedBatches
from paged.errors import RecordingError
from paged.recording.recording import open_recording
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import tiny_llm, tiny_model

FULL = Path("/dev/full")
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
    assert not any(isinstance(each, RecordedBatches) for each in observers)


@pytest.mark.skipif(not FULL.exists(), reason="no device that is full")
def test_a_full_disk_ends_the_recording_alone(caplog: pytest.LogCaptureFixture) -> None:
    llm = tiny_llm(record=str(FULL))
    expected = tiny_llm().generate(["hello"] * 3, PARAMS)
    for _ in range(3):
        assert [each.outputs for each in llm.generate(["hello"] * 3, PARAMS)] == [
            each.outputs for each in expected
        ]
    del llm
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == [
        "the recording breaks off: /dev/full takes no more: No space left on device"
    ]


@pytest.mark.parametrize("num_more_bytes", [0, 50, 400])
def test_a_disk_that_gets_full_leaves_what_was_written(tmp_path: Path, num_more_bytes: int) -> None:
    """The file must be readable up to there, wherever it breaks off."""
    program = (
        "import resource, signal\n"
        "from pathlib import Path\n"
        "from tests.helpers.tiny_llm import tiny_llm\n"
        f"path = Path({str(tmp_path / 'run')!r})\n"
        "llm = tiny_llm(record=str(path))\n"
        "llm.generate('hello')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"most = path.stat().st_size + {num_more_bytes}\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
        "for _ in range(4): llm.generate('hello')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stderr.decode().count("the recording breaks off") == 1
    with open_recording(tmp_path / "run") as recording:
        assert len(list(recording.steps_at(range(recording.num_steps)))) >= 16
        assert recording.contents.fault is not None


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
