"""Lanes, blocks and memories used in uncommon ways, run unchanged in the interpreter."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch

from paged.errors import BackendUnavailable, KernelRunError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.cubin_cache import cubin
from paged.kernel.launch import one
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_launch import Memory, launch, load
from tests.helpers.ordinary.case import KERNELS_DIR, integers, normal

HARD = KERNELS_DIR / "hard"
ENTRIES = {
    "alignment": ["alignment<float, 16>", "alignment<double, 8>"],
    "bits": ["bits"],
    "complex_fft": ["fft<float, 64>", "fft<double, 16>", "mandelbrot"],
    "control_flow": ["parse_fields", "searches", "odd_even_sort"],
    "dispatch": ["dispatch"],
    "expression_templates": ["transform<float>", "transform<int>"],
    "locks": ["deposit", "take_turns", "relay", "smooth_ring", "mailbox"],
    "parameters": ["pack", "map_points", "box_sum"],
    "shared_memory": ["shared_memory"],
    "spelling": [
        *("declared_first", "outer::fill<float>", "outer::fill<int, 8, kPlain, true>"),
        *("outer::fill<double, 2, kPlain, true>", "outer::add_all<int, short, double>", "arrays"),
    ],
    "statics": ["remember"],
    "subwarps": ["subwarps"],
    "wide_grid": ["where_am_i"],
}


@pytest.fixture(params=[None, 1, 2], ids=["natural", "seed 1", "seed 2"])
def backend(request: pytest.FixtureRequest) -> InterpretBackend:
    return InterpretBackend(InterpretConfig(seed=request.param))


def empty(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def test_every_hard_kernel_is_listed() -> None:
    assert {path.stem for path in HARD.glob("*.cu")} == set(ENTRIES)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ENTRIES)
def test_nvrtc_compiles_the_file_unmodified(name: str, arch: str) -> None:
    path = HARD / f"{name}.cu"
    text, entries = read_source(path), tuple(ENTRIES[name])
    try:
        compiled = cubin(KernelSource(name=name, text=text, path=path, entries=entries), arch)
    except BackendUnavailable as error:
        pytest.skip(str(error))
    assert compiled.image.startswith(b"\x7fELF")


def test_parts_of_warps(backend: InterpretBackend) -> None:
    x, out, wide = integers(0, 40, 128), empty(6, 128), empty(128, dtype=torch.int64)
    program = load(backend, HARD / "subwarps.cu", ["subwarps"])
    launch(
        program, "subwarps", Memory("in", x), Memory("out", out), Memory("out", wide),
        grid=2, block=64,
    )  # fmt: skip
    v = x.numpy()
    eights, sixteens, warps = v.reshape(-1, 8), v.reshape(-1, 16), v.reshape(-1, 32)
    assert out[0].tolist() == eights[:, ::-1].flatten().tolist()
    above = np.concatenate([sixteens[:, 1:], sixteens[:, -1:]], 1)
    below = np.concatenate([sixteens[:, :1], sixteens[:, :-1]], 1)
    wrapped = np.roll(sixteens, -1, axis=1)
    assert out[1].tolist() == (above * 10000 + below * 100 + wrapped).flatten().tolist()
    assert out[2].tolist() == [_diverged(warps[i // 32], i % 32) for i in range(128)]
    assert out[3].tolist() == np.repeat(sixteens.sum(1), 16).tolist()
    equal = warps[:, :, None] % 5 == warps[:, None, :] % 5
    assert out[4].tolist() == equal.sum(2).flatten().tolist()
    assert out[5].tolist() == [3] * 128
    partner = np.arange(128) ^ 4
    assert wide.tolist() == ((v[partner].astype(np.int64) << 40) | partner).tolist()


def _diverged(warp: np.ndarray, lane: int) -> int:
    swapped = [int(warp[i ^ 2]) for i in range(32)]
    value = swapped[lane]
    if lane % 2:
        high = sum(swapped[i] > 20 for i in range(17, 32, 2))
        value += 100 * high if lane >= 16 else 0
    elif lane % 4 == 0:
        value = int(warp[lane]) + int(warp[0::4].sum())
    else:
        value = int(warp[lane]) - int((warp[2::4] == 31).any())
    return value + 1000


def test_bits_of_numbers(backend: InterpretBackend) -> None:
    x = normal(40)
    x[:4] = torch.tensor([0.0, -0.0, torch.inf, 1e-42])
    out, products = empty(40, 12, dtype=torch.uint32), empty(40, 3, dtype=torch.uint64)
    program = load(backend, HARD / "bits.cu", ["bits"])
    launch(
        program, "bits", Memory("in", x), Memory("out", out), Memory("out", products),
        one(40, "int32"), grid=2, block=32,
    )  # fmt: skip
    for i, word in enumerate(x.numpy().view(np.uint32).tolist()):
        assert out[i].tolist() == _bits(word, i)
        assert products[i].tolist() == _wide_bits(word)


def _bits(word: int, i: int) -> list[int]:
    raw = word.to_bytes(4, "little")
    inverse = word ^ 0xFFFF_FFFF
    pair = inverse << 32 | word
    trailing = (word & -word).bit_length()
    added = [(a + b) & 255 for a, b in zip(raw, (0x80, 0x7F, 0xFF, 0x01), strict=True)]
    low = word & 0xFF_FFFF
    signed = low - (1 << 24) if low >> 23 else low
    return [
        (word >> 23 & 255) << 1 | word >> 31,
        zlib.crc32(raw),
        int.from_bytes(raw, "big"),
        (pair << 9 >> 32) & 0xFFFF_FFFF,
        (pair >> 9) & 0xFFFF_FFFF,
        int(f"{word:032b}"[::-1], 2),
        32 - word.bit_length() | trailing << 8 | word.bit_count() << 16,
        word * 0x9E3779B9 >> 32,
        abs(raw[0] - raw[1]) + raw[2],
        (1 << i % 33) - 1,
        int.from_bytes(bytes(added), "little"),
        (signed * -3) & 0xFFFF_FFFF,
    ]


def _wide_bits(word: int) -> list[int]:
    key = word << 32 | (word ^ 0xFFFF_FFFF)
    first = (key & -key).bit_length()
    return [
        key * 0x9E3779B97F4A7C15 >> 64,
        int(f"{key:064b}"[::-1], 2),
        key.bit_count() | 64 - key.bit_length() << 8 | first << 16,
    ]


def test_shared_memory_in_all_its_forms(backend: InterpretBackend) -> None:
    x, out = integers(0, 1000, 128), empty(4, 128, dtype=torch.float64)
    program = load(backend, HARD / "shared_memory.cu", ["shared_memory"])
    launch(
        program, "shared_memory", Memory("in", x), Memory("out", out),
        grid=2, block=64, shared_bytes=64 * (1 + 16 + 8) + 32,
    )  # fmt: skip
    v = x.numpy().reshape(2, 64).astype(np.float64)
    t = np.arange(64)
    turned = v[:, (1 - t // 32) * 32 + t // 8 % 4 * 8 + 7 - t % 8]
    assert out[0].tolist() == (turned + 1000 * v[:, 32 + t % 32]).flatten().tolist()
    small = v % 100
    assert out[1].tolist() == (111 * small[:, ::-1]).flatten().tolist()
    following = np.roll(v, -1, 1) + np.roll(np.arange(128.0).reshape(2, 64), -1, 1)
    assert out[2].tolist() == following.flatten().tolist()
    carved = small[:, t ^ 1]
    expected = carved + 0.5 * carved + (carved + 10 * (carved + 1) + 100 * (carved + 2) + carved)
    assert out[3].tolist() == expected.flatten().tolist()


def test_lanes_and_blocks_take_turns(backend: InterpretBackend) -> None:
    program = load(backend, HARD / "locks.cu", ENTRIES["locks"])
    amounts = integers(-50, 100, 200)
    account, total, largest = empty(4), empty(1, dtype=torch.float64), empty(1, dtype=torch.float32)
    launch(
        program, "deposit", Memory("inout", account), Memory("inout", total),
        Memory("inout", largest), Memory("in", amounts), one(200, "int32"), grid=4, block=64,
    )  # fmt: skip
    expected = int(amounts.sum())
    assert account.view(torch.int32).tolist()[:2] == [0, 200]
    assert account[2:].view(torch.int64).item() == expected
    assert total.item() == expected
    assert largest.item() == amounts.max()
    for _ in range(2):
        order, length = torch.full((9,), -1, dtype=torch.int32), empty(1)
        launch(
            program, "take_turns", Memory("inout", order), Memory("inout", length),
            grid=9, block=3,
        )  # fmt: skip
        assert sorted(order.tolist()) == list(range(9))


def test_warps_take_turns(backend: InterpretBackend) -> None:
    program, out = load(backend, HARD / "locks.cu", ENTRIES["locks"]), empty(6)
    launch(program, "relay", Memory("inout", out), grid=1, block=6 * 32)
    assert out.tolist() == [3**i for i in range(6)]


def test_blocks_that_wait_for_each_other_take_a_worker_each() -> None:
    config = InterpretConfig(num_workers=4, seed=1)
    program = load(InterpretBackend(config), HARD / "locks.cu", ENTRIES["locks"])
    ring = normal(4 * 32)
    expected, scratch = ring.clone(), torch.zeros_like(ring)
    for _ in range(3):
        expected = 0.5 * (expected.roll(1) + expected.roll(-1))
    launch(
        program, "smooth_ring", Memory("inout", ring), Memory("inout", scratch), one(3, "int32"),
        grid=4, block=32,
    )  # fmt: skip
    assert torch.equal(ring, expected)
    slot, is_full, total = empty(1), empty(1), empty(1)
    mailbox = Memory("inout", slot), Memory("inout", is_full), Memory("inout", total)
    launch(program, "mailbox", *mailbox, one(20, "int32"), grid=2, block=1)
    assert total.item() == sum(i * i for i in range(21))


def test_a_block_that_waits_for_one_not_started_is_an_error_of_the_call() -> None:
    config = InterpretConfig(num_workers=1, timeout_s=1.0)
    program = load(InterpretBackend(config), HARD / "locks.cu", ENTRIES["locks"])
    slot, is_full, total = empty(1), empty(1), empty(1)
    mailbox = Memory("inout", slot), Memory("inout", is_full), Memory("inout", total)
    with pytest.raises(KernelRunError, match=r"mailbox: did not end within 1 s"):
        launch(program, "mailbox", *mailbox, one(20, "int32"), grid=2, block=1)
    assert total.item() == 0


def test_places_on_three_axes(backend: InterpretBackend) -> None:
    grid, block = (2, 3, 2), (6, 4, 4)
    num_blocks, num_threads = 12, 96
    places = empty(num_blocks * num_threads, 8)
    corners = empty(num_blocks * num_threads, 2, dtype=torch.int16)
    votes = empty(num_blocks * num_threads, dtype=torch.int64)
    program = load(backend, HARD / "wide_grid.cu", ["where_am_i"])
    launch(
        program, "where_am_i", Memory("out", places), Memory("out", corners),
        Memory("out", votes), grid=grid, block=block,
    )  # fmt: skip
    rank = np.arange(num_threads)
    x, y, z = rank % 6, rank // 6 % 4, rank // 24
    for b in range(num_blocks):
        bx, by, bz = b % 2, b // 2 % 3, b // 6
        rows = places[b * num_threads : (b + 1) * num_threads].numpy()
        at = np.full(num_threads, 1)
        expected = [x, y, z, at * bx, at * by, at * bz, rank, rank % 32]
        assert rows.tolist() == np.stack(expected, 1).tolist()
        here = slice(b * num_threads, (b + 1) * num_threads)
        assert corners[here].tolist() == [[bx + by, bz + 4]] * num_threads
        quads = x.reshape(-1, 4)
        largest = np.repeat(quads.max(1), 4)
        ballots = np.repeat(((quads & 1) << np.arange(4)).sum(1), 4)
        same = int((y == z).sum())
        expected_votes = same | 1 << 16 | 1 << 20 | largest << 32 | ballots << 48
        assert votes[here].tolist() == expected_votes.tolist()
