"""Atomics with an order and a scope, atomics of vectors, and the spaces of addresses."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.interpret import InterpretConfig, InterpretProgram
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.interpreted import FOLDER, filled, launch, program, updated

FILE = "scopes.cu"
TYPES = {"int, unsigned": torch.int32, "long long, unsigned long long": torch.int64}
TEMPLATES = tuple(f"scoped<{name}>" for name in TYPES)
CONFIGS = [InterpretConfig(num_workers=3), InterpretConfig(seed=1, isolate=False)]


@pytest.fixture(params=CONFIGS, ids=["natural", "in place"])
def built(request: pytest.FixtureRequest) -> InterpretProgram:
    return program(FILE, request.param, templates=TEMPLATES)


def test_addresses_tell_their_space(built: InterpretProgram) -> None:
    out = filled(70, 6, dtype=torch.int32)
    launch(built, "spaces", block=70, shared_bytes=70 * 4, out=out)
    for row in out.tensor.tolist():
        assert row == [9, 9, 10, 10, 12, 9]


def test_vectors_add_by_component(built: InterpretProgram) -> None:
    twos, fours = torch.zeros(2), torch.zeros(2, 4)
    launch(built, "vectors", grid=3, block=64, twos=updated(twos), fours=updated(fours))
    assert twos.tolist() == [192.0, 96.0]
    assert fours[0].tolist() == [192.0, 384.0, 48.0, 768.0]


@pytest.mark.parametrize("name", TYPES)
def test_no_update_is_lost(built: InterpretProgram, name: str) -> None:
    grid, block = 3, 64
    total = grid * block
    cells = torch.zeros(11, dtype=TYPES[name])
    cells[5] = -1
    lock = torch.zeros(1, dtype=TYPES[name])
    launch(
        built, f"scoped<{name}>", grid=grid, block=block, cells=updated(cells), lock=updated(lock)
    )
    odd = 0
    for i in range(total):
        odd ^= i
    expected = [total, -total, total - 1, 1 - total, (1 << 20) - 1, -1 << 16, odd, total]
    assert cells.tolist() == [*expected, 5, 10, 51]
    assert lock.item() == 0


@needs_nvrtc
def test_nvrtc_compiles_the_file_unmodified() -> None:
    path = FOLDER / FILE
    entries = ("spaces", "vectors", *TEMPLATES)
    source = KernelSource(name="scopes", text=read_source(path), path=path, entries=entries)
    assert compile_cubin(source, "sm_90").image
