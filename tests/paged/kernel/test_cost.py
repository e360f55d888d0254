"""Least work and least time."""

from __future__ import annotations

from dataclasses import replace

import torch

from paged.kernel.binding import Binding, bind
from paged.kernel.cost import Roofline, least_work
from paged.kernel.spec import KernelSpec, Launch, Operand
from paged.kernel.work import Cost, Work

SPEC = KernelSpec(
    name="move",
    source="",
    launches=(Launch(entry="move", grid=1, block=1),),
    operands=(
        Operand(name="x", shape="n", dtype="float16"),
        Operand(name="y", shape="n", dtype="float32", intent="inout"),
        Operand(name="bias", shape="n", dtype="float32", is_optional=True),
        Operand(name="z", shape="2 n", dtype="float32", intent="out"),
        Operand(name="w", shape="n", dtype="float32", intent="workspace"),
    ),
)


def bound(spec: KernelSpec) -> Binding:
    return bind(spec, [torch.zeros(10, dtype=torch.float16), torch.zeros(10), None], {})


def test_each_operand_once_and_changed_ones_twice() -> None:
    assert least_work(bound(SPEC)) == Work(bytes=20 + 2 * 40 + 80, flops=0)


def test_expressions() -> None:
    spec = replace(SPEC, cost=Cost(bytes="3*n", flops="n*n"))
    assert least_work(bound(spec)) == Work(bytes=30, flops=100)


def test_a_function_of_the_operands() -> None:
    def work(binding: Binding) -> Work:
        x = binding.tensors["x"]
        assert x is not None
        return Work(bytes=int(x.sum()) + 5, flops=6)

    assert least_work(bound(replace(SPEC, cost=Cost(work=work, text="")))) == Work(bytes=5, flops=6)


def test_roofline() -> None:
    roofline = Roofline(bytes_per_s=100.0, flops_per_s=1000.0)
    assert roofline.least_s(Work(bytes=50, flops=100)) == 0.5
    assert roofline.least_s(Work(bytes=50, flops=1000)) == 1.0
