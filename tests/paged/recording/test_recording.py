"""What was recorded reads back as the batches that ran, up to where a file breaks off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paged.errors import RecordingError
from paged.recording import recorder as recorder_module
from paged.recording.framing import END, HEADER, STEPS, write_chunk, write_start
from paged.recording.recording import open_recording
from tests.helpers.recorded_runs import (
    GROUPS,
    MAX_MODEL_LEN,
    MAX_ROWS,
    Copier,
    contents,
    random_requests,
    record,
)

ENGINES: dict[str, dict[str, Any]] = {
    "chunks": {"budget": 5},
    "prefix hits": {"enable_prefix_caching": True},
    "swap": {"preemption": "swap", "num_blocks": 18, "budget": None},
    "groups": {"preemption": "swap", "groups": GROUPS, "num_blocks": 40, "num_host_blocks": 16},
    "reserved": {"allocator": "reserved-max", "num_blocks": 64},
    "virtual": {"allocator": "virtual", "blocks_per_page": 2, "num_blocks": 40},
}


def read(path: Path) -> list[tuple[float, float, dict[str, Any]]]:
    """Read a recording, each step copied out before the next is asked for."""
    with open_recording(path) as recording:
        return [(s.start_s, s.duration_s, contents(s.batch)) for s in recording.steps()]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ENGINES)
def test_batches_read_back_equal(name: str, seed: int, tmp_path: Path) -> None:
    requests = random_requests(seed, 14)
    copier = record(tmp_path / "run", requests, **ENGINES[name])
    assert len(copier.steps) > 10
    assert read(tmp_path / "run") == copier.steps


def test_the_runs_hold_what_a_recording_must_tell(tmp_path: Path) -> None:
    def steps_of(name: str) -> list[dict[str, Any]]:
        runs = [record(tmp_path / "run", random_requests(s, 14), **ENGINES[name]) for s in range(6)]
        return [step for run in runs for _, _, step in run.steps]

    swapped, grouped = steps_of("swap"), steps_of("groups")
    for kind in range(3):
        assert any(step["moves"][kind][0] for step in swapped), f"no moves of kind {kind}"
    assert any(step["moves"][0][2] for step in grouped)
    assert any(any(first) for step in grouped for _, first, *_ in step["tables"])
    assert any(len(step["tables"]) == 2 for step in grouped)
    admitted = [each for step in (*swapped, *steps_of("chunks")) for each in step["admitted"]]
    assert any(is_resumed for *_, is_resumed in admitted)
    assert any(
        cached for *_, cached, _ in [a for s in steps_of("prefix hits") for a in s["admitted"]]
    )


def test_the_header_says_how_large_the_engine_was(tmp_path: Path) -> None:
    record(tmp_path / "run", random_requests(0, 3), **ENGINES["groups"])
    with open_recording(tmp_path / "run") as recording:
        header = recording.header
    assert (header.allocator, header.num_blocks, header.block_size) == ("paged", 40, 4)
    assert (header.num_groups, header.max_rows) == (2, MAX_ROWS)
    assert header.max_row_tokens == MAX_MODEL_LEN
    assert header.model is None


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Copier]:
    """Return a recording of several chunks, and what it holds."""
    monkeypatch.setattr(recorder_module, "STEPS_PER_CHUNK", 8)
    return tmp_path / "run", record(tmp_path / "run", random_requests(1, 14))


def read_to_the_break(path: Path) -> tuple[int, str]:
    """Return how many steps can be read, and the error behind them."""
    num_steps = 0
    with pytest.raises(RecordingError) as caught, open_recording(path) as recording:  # noqa: PT012
        for _ in recording.steps():
            num_steps += 1
    return num_steps, str(caught.value)


def test_a_truncated_file_is_readable_up_to_the_break(in_chunks: tuple[Path, Copier]) -> None:
    path, copier = in_chunks
    data = path.read_bytes()
    found: set[int] = set()
    with open_recording(path) as recording:
        first = recording.contents.chunks[1]
    for size in range(len(data) - 1, first.offset, -37):
        path.write_bytes(data[:size])
        num_steps, error = read_to_the_break(path)
        assert num_steps % 8 == 0 or num_steps == len(copier.steps)
        assert "breaks off" in error
        found.add(num_steps)
    assert len(found) > 4
    path.write_bytes(data[: len(data) // 2])
    steps: list[Any] = []
    with pytest.raises(RecordingError), open_recording(path) as recording:  # noqa: PT012
        for step in recording.steps():
            steps.append((step.start_s, step.duration_s, contents(step.batch)))
    assert steps == copier.steps[: len(steps)]


def test_damage_is_told_and_what_lies_before_it_is_read(in_chunks: tuple[Path, Copier]) -> None:
    path, _ = in_chunks
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 2, len(data) - 1, 101):
        damaged = data.copy()
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        num_steps, error = read_to_the_break(path)
        assert num_steps % 8 == 0
        assert f"after {num_steps} steps: the recording " in error


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("{}" * 50)
    with (
        pytest.raises(RecordingError, match="got another file"),
        open_recording(tmp_path / "other"),
    ):
        pass
    with pytest.raises(RecordingError, match="cannot read"), open_recording(tmp_path / "none"):
        pass


def test_a_run_without_steps_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "run", [])
    with pytest.raises(RecordingError, match="at least one step"), open_recording(tmp_path / "run"):
        pass


def test_chunks_that_hold_no_batches_are_told(tmp_path: Path) -> None:
    record(tmp_path / "good", random_requests(0, 3))
    with open_recording(tmp_path / "good") as recording:
        header = recording.header
    for data in (b"", b"\x04abcd", b"\x05start\x09" + bytes(8)):
        with (tmp_path / "bad").open("wb") as file:
            write_start(file)
            write_chunk(file, HEADER, header.encode())
            write_chunk(file, STEPS, data, num_steps=2)
            write_chunk(file, END, b"")
        assert read_to_the_break(tmp_path / "bad")[0] == 0


def test_a_recording_is_compact(tmp_path: Path) -> None:
    copier = record(tmp_path / "run", random_requests(2, 200), num_blocks=60)
    num_tokens = sum(len(step["tokens"]) for *_, step in copier.steps)
    num_prompt_tokens = sum(len(a[1]) for *_, step in copier.steps for a in step["admitted"])
    # random ids of 16 bits and arrival times cannot be made smaller
    fixed_bytes = 3 * num_prompt_tokens + 40 * 200
    assert (tmp_path / "run").stat().st_size < fixed_bytes + 2 * num_tokens + 30 * len(copier.steps)


def test_steps_in_the_middle_are_read_alone(in_chunks: tuple[Path, Copier]) -> None:
    path, copier = in_chunks
    places = [3, 17, 18, len(copier.steps) - 1]
    with open_recording(path) as recording:
        assert recording.num_steps == len(copier.steps)
        found = [contents(step.batch) for step in recording.steps_at(places)]
    assert found == [copier.steps[place][2] for place in places]
    # the first chunk is not even looked at
    data = bytearray(path.read_bytes())
    with open_recording(path) as recording:
        first = recording.contents.chunks[1]
    data[first.offset + 5] ^= 1
    path.write_bytes(data)
    with open_recording(path) as recording:
        assert [contents(s.batch) for s in recording.steps_at(places[1:])] == found[1:]
        with pytest.raises(RecordingError, match="after 0 steps"):
            list(recording.steps_at(places))


@pytest.mark.parametrize("kind", [HEADER, STEPS])
def test_what_zlib_did_not_make_is_refused(kind: int, tmp_path: Path) -> None:
    record(tmp_path / "good", random_requests(0, 3))
    with open_recording(tmp_path / "good") as recording:
        header = recording.header
    with (tmp_path / "bad").open("wb") as file, pytest.MonkeyPatch.context() as patch:
        write_start(file)
        if kind == STEPS:
            write_chunk(file, HEADER, header.encode())
        patch.setattr("zlib.compress", lambda data, _level: data)
        write_chunk(file, kind, b"not packed", num_steps=kind)
    with (
        pytest.raises(RecordingError, match="expected a chunk that zlib made"),
        open_recording(tmp_path / "bad") as recording,
    ):
        list(recording.steps())


def test_a_chunk_that_unpacks_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record(tmp_path / "run", random_requests(0, 3))
    monkeypatch.setattr("paged.recording.framing.MAX_CHUNK_BYTES", 300)
    with (
        pytest.raises(RecordingError, match="expected chunks of at most 300 bytes"),
        open_recording(tmp_path / "run") as recording,
    ):
        list(recording.steps())


def test_a_count_of_steps_costs_nothing_by_itself(tmp_path: Path) -> None:
    record(tmp_path / "good", random_requests(0, 3))
    with open_recording(tmp_path / "good") as recording:
        header = recording.header
    with (tmp_path / "long").open("wb") as file:
        write_start(file)
        write_chunk(file, HEADER, header.encode())
        for _ in range(3):
            write_chunk(file, STEPS, b"", num_steps=2**32 - 1)
        write_chunk(file, END, b"")
    with open_recording(tmp_path / "long") as recording:
        places = range(recording.num_steps)[:: 2**30]
        with pytest.raises(RecordingError, match="no batch can be like this"):
            list(recording.steps_at(places))


def test_moves_are_counted_without_reading_the_batches(tmp_path: Path) -> None:
    copier = record(tmp_path / "run", random_requests(4, 14), **ENGINES["groups"])
    moves = np.array([[len(each[0]) for each in step["moves"]] for _, _, step in copier.steps])
    with open_recording(tmp_path / "run") as recording:
        assert recording.num_moves(["copies"]).tolist() == moves[:, 2].tolist()
        both = recording.num_moves(["swap_out", "swap_in"])
        assert both.tolist() == moves[:, :2].sum(axis=1).tolist()
    assert (moves > 0).any(axis=0).all()
