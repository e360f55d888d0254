"""Warp collectives give what CUDA's documentation says, in any order of lanes."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.interpreted import filled, given, launch, program

FILE = "warps.cu"
CONFIGS = [InterpretConfig(), InterpretConfig(seed=1), InterpretConfig(seed=2, isolate=False)]
LANES = torch.arange(32)


@pytest.fixture(params=CONFIGS, ids=str)
def config(request: pytest.FixtureRequest) -> InterpretConfig:
    return request.param


def shuffle_source(kind: str, lane: int, n: int, width: int) -> int:
    """Return the lane that is read, after the CUDA programming guide, section on shuffles."""
    first = lane // width * width
    last = first + width - 1
    match kind:
        case "index":
            return first + n % width
        case "up":
            return lane - n if lane - n >= first else lane
        case "down":
            return lane + n if lane + n <= last else lane
        case _:
            return lane ^ n if lane ^ n <= last else lane


@pytest.mark.parametrize("width", [32, 16, 8, 4, 2, 1])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 15, 31])
def test_shuffles_of_every_kind_and_width(config: InterpretConfig, width: int, n: int) -> None:
    value = LANES.to(torch.int32) * 10 + 3
    out = filled(4, 32, dtype=torch.int32)
    launch(program(FILE, config), "shuffles", value=given(value), out=out, width=width, n=n)
    for row, kind in enumerate(("index", "up", "down", "xor")):
        sources = [shuffle_source(kind, lane, n, width) for lane in range(32)]
        assert torch.equal(out.tensor[row], value[sources]), kind


def test_shuffles_of_types_of_every_size(config: InterpretConfig) -> None:
    out = filled(6, 32, dtype=torch.float64)
    launch(program(FILE, config), "shuffled_types", out=out)
    source = (LANES + 1) % 32
    expected = [source * 0.5, source, source, -1 - source, 2.0 ** (source + 16), source * 1.0]
    for row, values in zip(out.tensor, expected, strict=True):
        assert torch.equal(row, values.double())


def test_groups_of_a_warp_shuffle_apart(config: InterpretConfig) -> None:
    out = filled(32, dtype=torch.int32)
    launch(program(FILE, config), "partial_masks", out=out)
    for lane in range(32):
        group = lane % 4
        expected = sum(range(group, 32, 4)) * 8**group
        assert out.tensor[lane] == expected


def test_votes_and_matches_see_the_lanes_of_their_mask(config: InterpretConfig) -> None:
    value = (LANES * 7 % 26).to(torch.int32)
    out = filled(6, 32, dtype=torch.int32)
    launch(program(FILE, config), "votes", value=given(value), out=out)
    for lane in range(32):
        members = [other for other in range(32) if (other < 20) == (lane < 20)]
        expected = (
            bits(other for other in members if value[other] > 5),
            any(value[other] == 25 for other in members),
            all(value[other] < 20 for other in members),
            bits(other for other in members if value[other] % 3 == value[lane] % 3),
            bits(members) if lane < 20 else 0,
            lane < 20,
        )
        assert out.tensor[:, lane].tolist() == [as_int32(int(x)) for x in expected], lane


def bits(lanes: object) -> int:
    return sum(1 << lane for lane in lanes)  # type: ignore[attr-defined]


def as_int32(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def test_reductions(config: InterpretConfig) -> None:
    value = ((LANES * 37 + 11) % 64 - 20).to(torch.int32)
    out = filled(7, 32, dtype=torch.int32)
    launch(program(FILE, config), "reductions", value=given(value), out=out)
    both, either, odd = -1, 0, 0
    for number in value.tolist():
        both, either, odd = both & (number | 8), either | number, odd ^ number
    largest_unsigned = max(number & 0xFFFFFFFF for number in value.tolist())
    expected = [value.sum(), value.min(), value.max(), both, either, odd]
    for row, number in zip(out.tensor, [*expected, as_int32(largest_unsigned)], strict=True):
        assert torch.equal(row, torch.full((32,), int(number), dtype=torch.int32))


def test_the_active_mask_is_the_branch(config: InterpretConfig) -> None:
    out = filled(32, dtype=torch.int32)
    launch(program(FILE, config), "active", out=out)
    for lane in range(32):
        members = bits(other for other in range(32) if (other % 3 == 0) == (lane % 3 == 0))
        assert out.tensor[lane] == as_int32(members)


def test_lanes_that_the_block_lacks_are_not_waited_for(config: InterpretConfig) -> None:
    out = filled(3, 40, dtype=torch.int32)
    launch(program(FILE, config), "short_warp", block=40, out=out)
    assert out.tensor[0, 0] == 8
    assert out.tensor[0, 32] == 8
    assert out.tensor[1].all()
    assert out.tensor[2].tolist() == [-1] * 32 + [0xFF] * 8


def test_a_warp_barrier_does_not_wait_for_threads_that_returned(config: InterpretConfig) -> None:
    out = filled(32, dtype=torch.int32)
    launch(program(FILE, config), "syncwarp_after_return", out=out)
    even = LANES[::2]
    assert torch.equal(out.tensor[::2], ((even + 2) % 32).to(torch.int32))
