"""Host kernels that are recorded: their order, and what runs between them."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.host import HostConfig
from paged.kernel.backends.host_layers import HostLayers, find_layers
from paged.kernel.backends.host_program import add_to_recording, recording, spoil_recording


@pytest.fixture
def layers() -> HostLayers:
    found = find_layers(HostConfig(num_threads=2))
    assert found is not None
    return found


def test_kernels_run_again_in_order_with_what_lies_between(layers: HostLayers) -> None:
    a, b, c = (torch.full((3,), float(number)) for number in range(3))
    seen: list[float] = []
    with recording() as program:
        layers.copy(a, b)
        layers.copy(b, c)
        add_to_recording(lambda: seen.append(float(c[0])))
        layers.copy(c, a)
    run = program.runner()
    a.fill_(7)
    b.fill_(8)
    c.fill_(9)
    run()
    assert seen == [7]
    assert [float(each[0]) for each in (a, b, c)] == [7, 7, 7]
    a.fill_(5)
    run()
    assert seen == [7, 5]


def test_nothing_is_recorded_after_the_end(layers: HostLayers) -> None:
    a, b = torch.zeros(3), torch.zeros(3)
    with recording() as program:
        pass
    layers.copy(a, b)
    add_to_recording(lambda: pytest.fail("was not recorded"))
    spoil_recording("late")
    program.runner()()
    assert program.fault is None


def test_the_first_thing_that_cannot_be_repeated_is_named() -> None:
    with recording() as program:
        spoil_recording("one")
        spoil_recording("another")
    assert program.fault == "one"


def test_an_error_ends_the_recording() -> None:
    with pytest.raises(ValueError, match="at work"), recording() as program:
        raise ValueError("at work")
    spoil_recording("late")
    assert program.fault is None
