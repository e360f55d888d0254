"""Launches in this process work on the caller's own memory."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import (
    Passed,
    fresh_program,
    launch,
    marked_line,
    program,
    updated,
)

CONFIG = InterpretConfig(isolate=False)


def test_the_kernel_sees_the_callers_addresses() -> None:
    source, out = torch.zeros(3), torch.zeros(1, dtype=torch.int64)
    launch(program("memory.cu", CONFIG), "address", source=updated(source), out=updated(out))
    assert out.item() == source.data_ptr()


def test_undefined_memory_holds_poison() -> None:
    out = torch.zeros(4, dtype=torch.int32)
    config = InterpretConfig(isolate=False, poison=0x11)
    launch(program("memory.cu", config), "keep_even", out=Passed(out, "out"), n=1)
    assert out.tolist() == [0, 0x11111111, 0x11111111, 0x11111111]


def test_a_failure_leaves_the_process_usable_and_what_was_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, target = torch.full((100,), 3.0), torch.zeros(100)
    for _ in range(50):
        with pytest.raises(KernelRunError, match="__trap"):
            launch(
                program("failures.cu", CONFIG),
                "print_and_trap",
                block=64,
                source=updated(source),
                target=updated(target),
            )
    assert target[0] == 3.0
    assert capsys.readouterr().out == "before\n" * 50


@pytest.mark.parametrize("way", range(5))
def test_no_function_of_a_kernel_ends_the_process(way: int) -> None:
    source, target = updated(torch.zeros(100)), updated(torch.zeros(100))
    built = program("failures.cu", CONFIG)
    with pytest.raises(KernelRunError, match="the kernel called "):
        launch(built, "leave", grid=4, source=source, target=target, way=way)


def test_a_loop_without_end_is_ended_and_located() -> None:
    built = program("failures.cu", InterpretConfig(isolate=False, timeout_s=0.5, num_workers=2))
    source, target = torch.arange(100.0), torch.zeros(100)
    with pytest.raises(KernelRunError, match=r"did not end within 0\.5 s") as caught:
        launch(built, "endless", grid=3, source=updated(source), target=updated(target))
    assert f"failures.cu:{marked_line('failures.cu', 'endless')}, block" in str(caught.value)


def test_a_wait_that_nobody_ends_is_ended() -> None:
    built = program("failures.cu", InterpretConfig(isolate=False, timeout_s=0.5))
    flag, source = torch.zeros(2, dtype=torch.int32), torch.ones(1)
    with pytest.raises(KernelRunError, match=r"did not end within 0\.5 s"):
        launch(built, "endless_wait", source=updated(source), flag=updated(flag))


def test_a_launch_may_take_for_ever() -> None:
    built = program("memory.cu", InterpretConfig(isolate=False, timeout_s=inf))
    out = torch.zeros(4)
    launch(built, "keep_even", out=updated(out), n=4)
    assert out.tolist() == [0.0, 0.0, 2.0, 0.0]


def test_failures_among_many_blocks_end_the_launch() -> None:
    built = program("rendezvous_failures.cu", InterpretConfig(isolate=False, num_workers=4))
    out = torch.zeros(128, dtype=torch.int32)
    for _ in range(20):
        with pytest.raises(KernelRunError, match="divergent barrier"):
            launch(built, "two_barriers", grid=50, block=128, out=updated(out))


def test_variables_change_even_when_a_launch_fails() -> None:
    built = fresh_program("atomics.cu", CONFIG)
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(KernelRunError):
        launch(built, "count_visits", block=3, out=updated(out), fails=1)
    assert built.read_variable("visits", np.int32, (3,)).sum() > 60
