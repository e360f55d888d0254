"""Threads that fail to meet at a barrier or in a collective are reported, with their places."""

from __future__ import annotations

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import FOLDER, given, launch, marked_line, program, updated

FILE = "rendezvous_failures.cu"
EVERY_CONFIG = [
    InterpretConfig(),
    InterpretConfig(seed=3),
    InterpretConfig(isolate=False),
]


def failure(entry: str, config: InterpretConfig | None = None, num_threads: int = 128) -> str:
    """Launch, and return the error's text; the output must be as before in isolation."""
    out = torch.zeros(num_threads, dtype=torch.int32)
    with pytest.raises(KernelRunError) as caught:
        launch(program(FILE, config), entry, block=num_threads, out=updated(out))
    if config is None or config.isolate:
        assert not out.any()
    return str(caught.value)


def place(mark: str) -> str:
    return f"{FOLDER / FILE}:{marked_line(FILE, mark)}"


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_a_barrier_that_half_of_the_threads_skip(config: InterpretConfig) -> None:
    text = failure("barrier_of_half", config)
    assert "barrier that not all threads reach" in text
    assert place("barrier_of_half") in text


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_a_barrier_after_threads_have_ended(config: InterpretConfig) -> None:
    text = failure("barrier_after_end", config)
    assert "barrier that not all threads reach" in text
    assert place("barrier_after_end") in text


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_barriers_in_two_places_do_not_meet(config: InterpretConfig) -> None:
    text = failure("two_barriers", config)
    assert "divergent barrier: 64 threads wait at" in text
    assert place("two_barriers_first") in text
    assert place("two_barriers_second") in text


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_a_barrier_against_a_shuffle_is_a_deadlock(config: InterpretConfig) -> None:
    text = failure("barrier_against_shuffle", config, 64)
    assert "deadlock: no thread of the block can run" in text
    assert f"thread (0,0,0): at __syncthreads, {place('barrier_against_shuffle')}" in text
    assert (
        "threads (1,0,0) to (31,0,0): in a warp collective with mask 0xffffffff, "
        f"{place('shuffle_against_barrier')}"
    ) in text
    assert "threads (33,0,0) to (63,0,0)" in text


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_a_warp_barrier_against_a_block_barrier_is_a_deadlock(config: InterpretConfig) -> None:
    text = failure("syncwarp_against_barrier", config)
    assert "deadlock" in text
    assert "threads (0,0,0) to (3,0,0): at __syncwarp with mask 0xffffffff" in text
    assert "threads (4,0,0) to (127,0,0): at __syncthreads" in text


def test_a_circle_of_waits_is_a_deadlock() -> None:
    text = failure("circle", num_threads=32)
    assert "deadlock" in text
    assert f"thread (1,0,0): at __syncwarp with mask 0x00000006, {place('circle')}" in text


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_shuffles_of_two_places_do_not_meet(config: InterpretConfig) -> None:
    text = failure("shuffles_of_two_lines", config, 32)
    assert "divergent collective: lanes 0x" in text
    assert place("shuffle_first") in text
    assert place("shuffle_second") in text


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("shuffles_of_two_masks", "wait for mask 0x0001ffff"),
        ("not_in_own_mask", "lane 16 is not in its own mask 0x0000ffff"),
        ("shuffles_of_two_types", "divergent collective"),
    ],
)
def test_lanes_must_agree_on_what_they_do_together(entry: str, expected: str) -> None:
    assert expected in failure(entry, num_threads=32)


def test_a_mask_must_not_name_lanes_that_have_ended() -> None:
    late = failure("mask_names_ended", InterpretConfig(seed=5), num_threads=32)
    assert "has ended" in late or "names lanes that have ended" in late
    early = failure("ends_while_awaited", num_threads=32)
    assert "but lane 31, which it names, has ended" in early
    assert place("ends_while_awaited") in early


def test_a_thread_must_not_end_with_copies_in_flight() -> None:
    source = torch.arange(128, dtype=torch.int32)
    out = torch.zeros(32, dtype=torch.int32)
    with pytest.raises(KernelRunError, match="ended with 1 asynchronous copies in flight"):
        launch(program(FILE), "copy_in_flight", source=given(source), out=updated(out))
    assert not out.any()
