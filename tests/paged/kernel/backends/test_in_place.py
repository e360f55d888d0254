"""Launches in this process work on the caller's own memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import Passed, fresh_program, launch, program, updated

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
