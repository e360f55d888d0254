"""The portability header: layouts as PTX has them, sums in the documented order, all archs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import Argument, Program, one
from paged.kernel.nvrtc import ARCHS, compile_cubin
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_launch import Memory, launch
from tests.helpers.cuda_sources import needs_nvrtc
from tests.helpers.elementwise import KERNELS_DIR

PATH = KERNELS_DIR / "portable.cu"
INCLUDE = Path(__file__).resolve().parents[3] / "kernels_cu" / "include"
TYPES = {"__half": torch.float16, "__nv_bfloat16": torch.bfloat16}
SOURCE = KernelSource(
    name="portable",
    text=read_source(PATH),
    path=PATH,
    entries=(
        *("load_fragments", "transpose_fragments", "copy_in_groups", "reduce", "convert"),
        *("reduce_by_shuffles", "vectors", "misaligned"),
        *(f"multiply<{name}>" for name in TYPES),
    ),
    include_dirs=(INCLUDE,),
)


@pytest.fixture(params=[None, 1], ids=["natural", "seeded"])
def program(request: pytest.FixtureRequest) -> Program:
    return InterpretBackend(InterpretConfig(seed=request.param)).build(SOURCE)


def run(
    program: Program, entry: str, *parameters: torch.Tensor | Argument, grid: int = 1
) -> torch.Tensor:
    """Launch warps; the last tensor is the output, and is returned."""
    tensors = [parameter for parameter in parameters if isinstance(parameter, torch.Tensor)]
    arguments = (
        Memory("out" if parameter is tensors[-1] else "in", parameter)
        if isinstance(parameter, torch.Tensor)
        else parameter
        for parameter in parameters
    )
    launch(program, entry, *arguments, grid=grid, block=32)
    return tensors[-1]


def fragment(matrix: torch.Tensor) -> torch.Tensor:
    """Return an 8x8 matrix as each lane's register holds it: [32, 2]."""
    return matrix.reshape(32, 2)


def test_ldmatrix_gives_each_lane_its_pair_of_each_matrix(program: Program) -> None:
    matrices = torch.arange(256, dtype=torch.int16).reshape(4, 8, 8)
    out = run(program, "load_fragments", matrices, torch.zeros(32, 12, dtype=torch.int32))
    registers = out.view(torch.int16).reshape(32, 12, 2).unbind(1)
    plain = [fragment(matrix) for matrix in matrices]
    turned = [fragment(matrix.T) for matrix in matrices]
    expected = [*plain, *turned, *plain[:2], *turned[:2]]
    for got, wanted in zip(registers, expected, strict=True):
        assert torch.equal(got, wanted)


def test_movmatrix_transposes(program: Program) -> None:
    matrix = torch.arange(64, dtype=torch.int16).reshape(8, 8)
    words = fragment(matrix).contiguous().view(torch.int32).flatten()
    out = run(program, "transpose_fragments", words, torch.zeros(32, dtype=torch.int32))
    assert torch.equal(out.view(torch.int16).reshape(32, 2), fragment(matrix.T))


@pytest.mark.parametrize("name", TYPES)
def test_mma_adds_products_in_rising_order_of_k(program: Program, name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    a, b, c = (
        torch.randn(40, *shape, generator=generator) * torch.logspace(-4, 4, 40)[:, None, None]
        for shape in ((16, 16), (16, 8), (16, 8))
    )
    a, b = a.to(TYPES[name]), b.to(TYPES[name])
    d = run(program, f"multiply<{name}>", a, b, c, torch.zeros_like(c), grid=40)
    expected = c.numpy().copy()
    for k in range(16):
        expected += a.float().numpy()[:, :, k, None] * b.float().numpy()[:, k, None, :]
    assert np.array_equal(d.numpy(), expected)


def test_mma_is_a_matrix_product(program: Program) -> None:
    small = torch.randint(-8, 9, (3, 16, 16), generator=torch.Generator().manual_seed(1))
    a, b, c = small[0].half(), small[1, :, :8].half().contiguous(), small[2, :, :8].float()
    d = run(program, "multiply<__half>", a, b, c.contiguous(), torch.zeros(16, 8))
    assert torch.equal(d, c + a.float() @ b.float())


def test_copies_arrive_with_their_group_and_fill_with_zero(program: Program) -> None:
    source = torch.arange(256, dtype=torch.int32).reshape(64, 4) + 1
    out = run(program, "copy_in_groups", source, torch.zeros(96, 4, dtype=torch.int32))
    neighbours = torch.arange(32) ^ 1
    second = source[32:] * torch.tensor([1, 1, 1, 0])
    assert torch.equal(out[:32], source[neighbours])
    assert set(out[32:64].flatten().tolist()) == {-1}, "poison until the wait"
    assert torch.equal(out[64:], second[neighbours])


def test_warp_reductions_are_butterflies_to_the_bit(program: Program) -> None:
    values = torch.randn(32, generator=torch.Generator().manual_seed(2))
    out = run(program, "reduce", values, torch.zeros(4, 32))
    by_shuffles = run(program, "reduce_by_shuffles", values, torch.zeros(32))
    assert torch.equal(out[0], by_shuffles)
    eights = values.reshape(4, 2, 2, 2).sum(3).sum(2).sum(1)
    assert torch.equal(out[1], eights.repeat_interleave(8))
    assert torch.equal(out[2], values.max().expand(32))
    assert torch.equal(out[3], values.reshape(8, 4).amax(1).repeat_interleave(4))


def test_every_pair_of_e4m3_converts(program: Program) -> None:
    pairs = torch.arange(1 << 16).to(torch.uint16)
    out = run(program, "convert", pairs, torch.zeros(1 << 16, 2, dtype=torch.float16), grid=2048)
    expected = pairs.view(torch.float8_e4m3fn).to(torch.float16).reshape(-1, 2)
    assert torch.equal(out.isnan(), expected.isnan())
    bits, wanted = (t[~t.isnan()].view(torch.int16) for t in (out, expected))
    assert torch.equal(bits, wanted)


def test_vectors_are_loaded_and_stored_whole(program: Program) -> None:
    values = torch.arange(128.0) - 100
    out = run(program, "vectors", values, torch.zeros(128))
    assert torch.equal(out, torch.exp2(values))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (0, "load_vector at a misaligned address"),
        (1, "cp_async from a misaligned address"),
        (2, "cp_async to a misaligned address"),
        (3, "ldmatrix from a misaligned row"),
        (4, "cp_async of a negative or too large number of bytes"),
        (5, "in flight"),
    ],
)
def test_what_the_device_would_refuse_names_itself_and_its_line(what: int, message: str) -> None:
    program = InterpretBackend(InterpretConfig()).build(SOURCE)
    with pytest.raises(KernelRunError, match=message) as caught:
        run(program, "misaligned", torch.zeros(8), torch.zeros(8), one(what, np.int32))
    assert what == 5 or "portable.cu:" in str(caught.value)


@needs_nvrtc
@pytest.mark.parametrize("arch", ARCHS)
def test_the_header_compiles_for_every_architecture(arch: str) -> None:
    compiled = compile_cubin(SOURCE, arch)
    assert compiled.image.startswith(b"\x7fELF")
    assert "bytes spill stores" in compiled.log
    assert compiled.log.count(" 0 bytes spill stores") == compiled.log.count("spill stores")
