"""Fused sums, maxima and minima in the interpreter against their definitions in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import torch

from paged.kernel.nvrtc import compile_cubin
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import Elementwise

KERNELS = Elementwise(file="dpx.cu", entries=("fused", "told"))
WORD = 0xFFFFFFFF
KINDS = {"s32": (32, True), "u32": (32, False), "s16x2": (16, True), "u16x2": (16, False)}

Pick = Callable[..., int]


def lanes(value: int, kind: str) -> list[int]:
    """Return the lanes of a word, the lowest first."""
    bits, is_signed = KINDS[kind]
    found = [(value >> at) & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [v - (1 << bits) if is_signed and v >> (bits - 1) else v for v in found]


def word(values: list[int], kind: str) -> int:
    bits, _ = KINDS[kind]
    return sum((value & ((1 << bits) - 1)) << (bits * i) for i, value in enumerate(values))


def wrapped(value: int, kind: str) -> int:
    bits, is_signed = KINDS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed and value >> (bits - 1) else value


def fused_rows(x: int, y: int, z: int) -> Iterator[int]:
    picks: tuple[Pick, ...] = (max, min)
    for kind, pick in product(KINDS, picks):
        threes = list(zip(lanes(x, kind), lanes(y, kind), lanes(z, kind), strict=True))
        yield word([pick(wrapped(a + b, kind), c) for a, b, c in threes], kind)
        yield word([pick(three) for three in threes], kind)
    for kind, pick in product(("s32", "s16x2"), picks):
        threes = list(zip(lanes(x, kind), lanes(y, kind), lanes(z, kind), strict=True))
        yield word([max(pick(wrapped(a + b, kind), c), 0) for a, b, c in threes], kind)
        yield word([max(pick(three), 0) for three in threes], kind)
        yield word([max(pick(a, b), 0) for a, b, _ in threes], kind)


def told_rows(x: int, y: int) -> Iterator[int]:
    picks: tuple[Pick, ...] = (max, min)
    for kind, pick in product(KINDS, picks):
        pairs = list(zip(lanes(x, kind), lanes(y, kind), strict=True))
        yield word([pick(a, b) for a, b in pairs], kind)
        yield sum((pick(a, b) == a) << i for i, (a, b) in enumerate(pairs))


def operands(count: int) -> list[torch.Tensor]:
    bits = np.random.default_rng(0).integers(0, 1 << 32, (count, 600), dtype=np.uint32)
    special = [0, 1, WORD, 1 << 31, (1 << 31) - 1, 0x80008000, 0x7FFF7FFF, 0x0000FFFF]
    bits[:, :8] = special
    bits[1, :4] = special[4:]
    bits[1, 300:] = bits[0, 300:]  # equal values
    return [torch.from_numpy(row.view(np.int32).copy()) for row in bits]


def test_fused_sums_maxima_and_minima() -> None:
    inputs = operands(3)
    rows = KERNELS.run("fused", *inputs, dtype=torch.int32, num_rows=28).numpy()
    for column, given in enumerate(zip(*(i.tolist() for i in inputs), strict=True)):
        assert [int(v) & WORD for v in rows[:, column]] == list(fused_rows(*given)), given


def test_what_was_taken_is_told() -> None:
    inputs = operands(2)
    rows = KERNELS.run("told", *inputs, dtype=torch.int32, num_rows=16).numpy()
    for column, given in enumerate(zip(*(i.tolist() for i in inputs), strict=True)):
        assert [int(v) & WORD for v in rows[:, column]] == list(told_rows(*given)), given


@needs_nvrtc
def test_nvrtc_compiles_the_file_unmodified() -> None:
    assert compile_cubin(KERNELS.source, "sm_90").image
