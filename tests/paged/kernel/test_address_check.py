"""Addresses raise a doubt where memory is missing or may be shared, and only there."""

from __future__ import annotations

import torch

from paged.kernel.address_check import address_check
from paged.kernel.spec import KernelSpec, Launch, Operand

SPEC = KernelSpec(
    name="two_written",
    source="",
    launches=(Launch(entry="two_written", grid=1, block=1),),
    operands=(
        Operand(name="x", shape="n", dtype="int8"),
        Operand(name="y", shape="n", dtype="int8", intent="inout"),
        Operand(name="z", shape="n", dtype="int8", intent="inout"),
        Operand(name="none", shape="zero", dtype="int8"),
        Operand(name="out", shape="n", dtype="int8", intent="out", alignment_bytes=4),
    ),
)
CHECK = address_check(
    SPEC,
    {o.name: torch.zeros(0 if o.name == "none" else 4, dtype=torch.int8) for o in SPEC.operands},
)


def test_memory_must_be_there_where_elements_are() -> None:
    sound = [100, 104, 108, 0, 112]
    assert not CHECK.is_doubtful(sound)
    for i in (0, 1, 2, 4):
        assert CHECK.is_doubtful([0 if j == i else address for j, address in enumerate(sound)])


def test_written_tensors_stand_alone() -> None:
    assert len(CHECK.neighbours) == 3
    for y in range(97, 104):
        assert CHECK.is_doubtful([100, y, 200, 0, 300])
        assert CHECK.is_doubtful([200, y, 100, 0, 300])
        assert CHECK.is_doubtful([y, 300, 100, 0, 400])
    for y in (96, 104):
        assert not CHECK.is_doubtful([100, y, 200, 0, 300])


def test_an_output_is_allocated_apart() -> None:
    assert not CHECK.is_doubtful([100, 200, 300, 0, 100])


def test_addresses_are_aligned_as_asked() -> None:
    assert not CHECK.is_doubtful([101, 201, 301, 0, 400])
    assert CHECK.is_doubtful([101, 201, 301, 0, 402])
