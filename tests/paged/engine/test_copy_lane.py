"""Copies beside the work of a GPU: their order, and what waits for them."""

from __future__ import annotations

from typing import NoReturn

import pytest
import torch

from paged.engine.copy_lane import CudaLane, InlineLane, find_lane

NUM_VALUES = 1 << 24


def test_a_cpu_copies_at_once() -> None:
    lane = find_lane(torch.device("cpu"))
    assert isinstance(lane, InlineLane)
    seen: list[int] = []
    ticket = lane.submit(lambda: seen.append(1))
    assert seen == [1]
    assert ticket.is_over
    ticket.wait()


@pytest.mark.gpu
def test_copies_come_after_what_was_computed_and_before_who_waits() -> None:
    device = torch.device("cuda", 0)
    lane = CudaLane(device)
    values = torch.zeros(NUM_VALUES, device=device)
    host = torch.zeros(NUM_VALUES, pin_memory=True)
    for number in (1.0, 2.0):
        torch.cuda._sleep(20_000_000)
        values.fill_(number)
        ticket = lane.submit(lambda: host.copy_(values, non_blocking=True))
        ticket.wait()
        values.fill_(-1.0)
        torch.cuda.synchronize(device)
        assert ticket.is_over
        assert (host == number).all()


@pytest.mark.gpu
def test_copies_go_on_while_nobody_waits() -> None:
    device = torch.device("cuda", 0)
    lane = CudaLane(device)
    values = torch.ones(NUM_VALUES, device=device)
    host = torch.zeros(NUM_VALUES, pin_memory=True)
    ticket = lane.submit(lambda: host.copy_(values, non_blocking=True))
    torch.cuda._sleep(2_000_000_000)
    computed = torch.cuda.Event()
    computed.record()
    while not ticket.is_over:
        assert not computed.query()
    assert (host == 1).all()


@pytest.mark.gpu
def test_after_copies_that_fail_the_gpu_waits_for_those_that_were_made() -> None:
    device = torch.device("cuda", 0)
    lane = CudaLane(device)
    values = torch.zeros(NUM_VALUES, device=device)
    host = torch.ones(NUM_VALUES, pin_memory=True)

    def fail() -> NoReturn:
        values.copy_(host, non_blocking=True)
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        lane.submit(fail)
    assert (values == 1).all()
