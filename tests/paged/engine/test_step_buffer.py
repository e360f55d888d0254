"""Buffers of a step: what is sent, and that it stays where it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.engine.step_buffer import StepBuffer


def test_what_is_filled_in_is_the_start_of_the_tensor() -> None:
    buffer = StepBuffer((8,), torch.int32, torch.device("cpu"))
    part = buffer.fill(np.array([[1, 2], [3, 4]]))
    assert part.tolist() == [1, 2, 3, 4]
    assert part.data_ptr() == buffer.tensor.data_ptr()
    assert buffer.fill(np.array([9])).tolist() == [9]
    assert buffer.tensor.tolist() == [9, 2, 3, 4, 0, 0, 0, 0]


def test_what_is_written_is_sent_by_the_first_axis() -> None:
    buffer = StepBuffer((3, 2), torch.int64, torch.device("cpu"))
    buffer.begin()[:2, :1] = [[5], [6]]
    assert buffer.send(2).tolist() == [[5, 0], [6, 0]]


@pytest.mark.gpu
def test_a_filling_waits_for_the_copy_before_it() -> None:
    device = torch.device("cuda", 0)
    buffer = StepBuffer((1 << 22,), torch.int32, device)
    seen: list[torch.Tensor] = []
    for number in range(4):
        torch.cuda._sleep(20_000_000)
        seen.append(buffer.fill(np.full(1 << 22, number)).clone())
    assert [(part == number).all().item() for number, part in enumerate(seen)] == [True] * 4
