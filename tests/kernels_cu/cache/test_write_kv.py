"""write_kv: every variant equals the reference in every bit."""

from __future__ import annotations

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.cache_calls import KERNELS, VARIANTS, Call, bits, fault, kernel_of, spec_of
from tests.helpers.kv_pools import (
    ORDERS,
    PoolShape,
    fused_rows,
    make_pool,
    some_scales,
    some_slots,
)

FP8 = torch.float8_e4m3fn


def make_call(
    key_t: torch.dtype = torch.float16,
    kv_t: torch.dtype = torch.float16,
    *,
    num_tokens: int = 11,
    layout: str = "blocks",
    has_scales: bool = False,
    **sizes: int,
) -> Call:
    source = torch.Generator().manual_seed(7)
    shape = PoolShape(**sizes)
    kv_sizes = (num_tokens, shape.num_kv_heads, shape.head_dim)
    _, key, value = fused_rows(kv_sizes, key_t, source)
    pool = make_pool(shape, kv_t, source, layout)
    scales = some_scales(shape, source) if has_scales else None
    operands = (key, value, pool, some_slots(shape, num_tokens, source), scales)
    return Call(op="write_kv", operands=operands, numbers={"layer": 1})


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("head_dim", [16, 46])
def test_layouts_and_slices_of_a_projection(variant: str, layout: str, head_dim: int) -> None:
    call = make_call(layout=layout, head_dim=head_dim)
    assert fault(call, kernel_of("write_kv", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize(
    "sizes",
    [
        {"head_dim": 80, "num_kv_heads": 1},
        {"head_dim": 256, "num_tokens": 3},
        {"head_dim": 1, "block_size": 1, "num_blocks": 11},
        {"head_dim": 7, "num_kv_heads": 13},
        {"num_tokens": 1},
        {"num_tokens": 0},
    ],
)
def test_sizes(variant: str, sizes: dict[str, int]) -> None:
    assert fault(make_call(**sizes), kernel_of("write_kv", variant)) is None  # pyright: ignore


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("has_scales", [False, True])
@pytest.mark.parametrize(
    ("key_t", "kv_t"),
    [(torch.bfloat16, FP8), (torch.float32, torch.float32), (torch.float32, torch.float16)],
)
def test_types_and_scales(
    variant: str, has_scales: bool, key_t: torch.dtype, kv_t: torch.dtype
) -> None:
    call = make_call(key_t, kv_t, has_scales=has_scales, head_dim=20)
    assert fault(call, kernel_of("write_kv", variant)) is None


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("scale", [1.0, 0.3, 0.0078125])
def test_fp8_rounds_to_nearest_even_and_saturates(variant: str, scale: float) -> None:
    codes = torch.arange(127, dtype=torch.uint8)
    exact = codes.view(FP8).float()
    middles = (exact[:-1] + exact[1:]) / 2
    below, above = (torch.nextafter(middles, torch.tensor(to)) for to in (0.0, 1e9))
    large = torch.tensor([448.0, 463.9, 464.0, 464.1, 480.0, 1e5, 3e38, torch.inf])
    row = torch.cat([exact, middles, below, above, large])
    rows = (torch.cat([row, -row]) * scale)[None, None]
    shape = PoolShape(num_blocks=1, num_layers=1, num_kv_heads=1, head_dim=rows.shape[-1])
    pool = make_pool(shape, FP8, torch.Generator().manual_seed(0))
    slots = torch.tensor([2])
    call = Call(
        op="write_kv",
        operands=(rows, rows.flip(-1), pool, slots, torch.full((1, 2, 1), scale)),
        numbers={"layer": 0},
    )
    (written,) = call.run(kernel_of("write_kv", variant))
    expected = (rows / scale).clamp(-448, 448).to(FP8)
    assert torch.equal(bits(written[0, 0, 0, 0, 2]), bits(expected[0, 0]))
    assert torch.equal(bits(written[0, 0, 1, 0, 2]), bits(expected[0, 0].view(torch.uint8).flip(0)))


@pytest.mark.parametrize("variant", KERNELS)
def test_nan_stays_nan_in_fp8(variant: str) -> None:
    call = make_call(torch.bfloat16, FP8, head_dim=20)
    call.operands[0][:] = torch.nan  # pyright: ignore[reportOptionalSubscript]
    (written,) = call.run(kernel_of("write_kv", variant))
    slot = int(call.operands[3][0])  # pyright: ignore[reportOptionalSubscript]
    row = written[slot // 4, 1, :, :, slot % 4].float()
    assert row[0].isnan().all()
    assert not row[1].isnan().any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_any_order_of_threads_and_any_poison_give_the_same_bits(variant: str) -> None:
    call = make_call(layout="tokens", head_dim=46)
    for config in (InterpretConfig(seed=3, poison=0), InterpretConfig(guard="begin")):
        assert fault(call, spec_of("write_kv", variant), config) is None


@pytest.mark.parametrize("variant", KERNELS)
def test_slots_outside_of_the_pool_are_skipped(variant: str) -> None:
    call = make_call()
    key, value, pool, _, _ = call.operands
    outside = torch.tensor([-1, -2, 24, 25, 2**31, 2**32, 2**62, -(2**63), 2**63 - 1, -(2**31), 24])
    skipping = Call(op="write_kv", operands=(key, value, pool, outside, None), numbers=call.numbers)
    (written,) = skipping.run(kernel_of("write_kv", variant))
    assert pool is not None
    assert torch.equal(bits(written), bits(pool))


@pytest.mark.parametrize("variant", KERNELS)
def test_entries_past_the_tokens_are_ignored(variant: str) -> None:
    call = make_call(num_tokens=5)
    key, value, pool, slots, _ = call.operands
    assert slots is not None
    longer = torch.cat([slots, torch.arange(24)])
    longer[5:][torch.isin(longer[5:], slots)] = 0
    padded = Call(op="write_kv", operands=(key, value, pool, longer, None), numbers=call.numbers)
    expected = call.reference()
    (written,) = padded.run(kernel_of("write_kv", variant))
    assert torch.equal(bits(written), bits(expected[0]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_does_not_fit_is_refused(variant: str) -> None:
    call = make_call(num_tokens=5)
    key, value, pool, slots, _ = call.operands
    spec = spec_of("write_kv", variant)
    assert slots is not None
    short = Call(op="write_kv", operands=(key, value, pool, slots[:4], None), numbers={"layer": 0})
    with pytest.raises(OperandError, match="num_slots >= num_tokens"):
        short.run(spec)
    with pytest.raises(OperandError, match="layer < num_layers"):
        Call(op="write_kv", operands=call.operands, numbers={"layer": 2}).run(spec)
