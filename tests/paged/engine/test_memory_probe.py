"""A GPU's own account of its memory agrees with what was taken."""

from __future__ import annotations

import pytest
import torch

from paged.engine.memory_probe import GpuMemory

STEP_BYTES = 1 << 30


@pytest.mark.gpu
def test_what_a_step_takes_is_its_peak_and_no_more() -> None:
    device = torch.device("cuda", 0)
    memory = GpuMemory(device)
    kept = torch.empty(STEP_BYTES, dtype=torch.uint8, device=device)
    before = memory.tensor_bytes()
    assert before >= kept.nbytes

    def step() -> None:
        torch.empty(STEP_BYTES, dtype=torch.uint8, device=device)

    assert memory.rise_bytes(step) == STEP_BYTES
    assert memory.tensor_bytes() == before
    assert memory.rise_bytes(lambda: None) == 0


@pytest.mark.gpu
def test_what_others_take_is_not_what_this_process_takes() -> None:
    device = torch.device("cuda", 0)
    memory = GpuMemory(device)
    before = memory.outside_bytes()
    kept = torch.empty(STEP_BYTES, dtype=torch.uint8, device=device)
    after = memory.outside_bytes()
    assert abs(after - before) < kept.nbytes // 2
    assert 0 < after < memory.total_bytes
