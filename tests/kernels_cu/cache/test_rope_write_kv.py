"""rope_write_kv: rotations are rounded once, variants agree in every bit."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.interpret import InterpretConfig
from tests.helpers.cache_calls import KERNELS, VARIANTS, Call, bits, difference, kernel_of, spec_of
from tests.helpers.kv_pools import (
    ORDERS,
    PoolShape,
    fused_rows,
    make_pool,
    some_scales,
    some_slots,
)

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
FP8 = torch.float8_e4m3fn
MAX_POSITIONS = 40


def make_call(
    key_t: torch.dtype = BF16,
    kv_t: torch.dtype = BF16,
    *,
    num_tokens: int = 9,
    num_q_heads: int = 6,
    rotary_dim: int = 32,
    interleaved: bool = False,
    layout: str = "blocks",
    has_scales: bool = False,
    **sizes: int,
) -> Call:
    source = torch.Generator().manual_seed(11)
    shape = PoolShape(**{"head_dim": 32, **sizes})
    kv_sizes = (num_tokens, shape.num_kv_heads, shape.head_dim)
    _, key, value = fused_rows(kv_sizes, key_t, source)
    query, _, _ = fused_rows((num_tokens, num_q_heads, shape.head_dim), key_t, source)
    positions = torch.randint(0, MAX_POSITIONS, (num_tokens,), generator=source)
    angles = torch.rand((MAX_POSITIONS, rotary_dim // 2), generator=source, dtype=FP32) * 6.28
    operands = (
        query,
        key,
        value,
        make_pool(shape, kv_t, source, layout),
        some_slots(shape, num_tokens, source),
        positions,
        torch.cat([angles.cos(), angles.sin()], dim=1),
        some_scales(shape, source) if has_scales else None,
    )
    return Call(
        op="rope_write_kv", operands=operands, numbers={"layer": 1, "interleaved": interleaved}
    )


def assert_rounded_once(call: Call, results: tuple[torch.Tensor, ...]) -> None:
    """Check queries and stored keys against float64, and all other memory to the bit.

    Rounding is monotone: a result rounded once from a float32 within `error` of the exact value
    lies between the two ends, rounded. `error` covers two products and a sum in float32.
    """
    _, exact_pool = call.reference()
    query, key, _, pool, slots, _, cos_sin, scales = call.operands
    assert query is not None
    assert key is not None
    assert pool is not None
    assert slots is not None
    assert cos_sin is not None
    out, written = results
    exact = _rotated(call, query)
    assert_between(out, exact, 2.0**-22 * query.abs().double().amax(-1, keepdim=True))
    exact_keys = _rotated(call, key)
    block_size = pool.shape[4]
    for token, slot in enumerate(slots.tolist()):
        if slot < 0:
            continue
        place = (slot // block_size, 1, 0, slice(None), slot % block_size)
        scale = torch.ones(1) if scales is None else scales[1, 0, :, None]
        error = 2.0**-22 * key[token].abs().double().amax(-1, keepdim=True) / scale
        assert_between(written[place], exact_keys[token] / scale, error)
        exact_pool[place] = written[place]
    assert difference((written,), (exact_pool,)) is None


def assert_between(got: torch.Tensor, exact: torch.Tensor, error: torch.Tensor) -> None:
    low, high = ((exact + sign * error).to(got.dtype).float() for sign in (-1, 1))
    wrong = ~((low <= got.float()) & (got.float() <= high))
    assert not wrong.any(), f"{int(wrong.sum())} elements are not rounded once"


def _rotated(call: Call, x: torch.Tensor) -> torch.Tensor:
    """Rotate as complex numbers: unlike the op's reference, which is written out by parts."""
    positions, cos_sin = call.operands[5:7]
    assert positions is not None
    assert cos_sin is not None
    half = cos_sin.shape[1] // 2
    angles = torch.complex(cos_sin[:, :half].double(), cos_sin[:, half:].double())
    rows = x.double()
    turned, rest = rows[..., : 2 * half], rows[..., 2 * half :]
    if call.numbers["interleaved"]:
        pairs = turned.unflatten(-1, (half, 2))
    else:
        pairs = turned.unflatten(-1, (2, half)).transpose(-1, -2)
    numbers = torch.complex(pairs[..., 0], pairs[..., 1]) * angles[positions][:, None]
    pairs = torch.stack([numbers.real, numbers.imag], dim=-1)
    if not call.numbers["interleaved"]:
        pairs = pairs.transpose(-1, -2)
    return torch.cat([pairs.flatten(-2), rest], dim=-1)


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(
    ("head_dim", "rotary_dim"), [(32, 32), (80, 32), (46, 46), (46, 10), (16, 2), (64, 48)]
)
def test_pairs_and_partial_rotation(
    variant: str, interleaved: bool, head_dim: int, rotary_dim: int
) -> None:
    call = make_call(head_dim=head_dim, rotary_dim=rotary_dim, interleaved=interleaved)
    assert_rounded_once(call, call.run(kernel_of("rope_write_kv", variant)))


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize(
    ("key_t", "kv_t", "has_scales"), [(FP16, FP8, True), (FP32, FP32, False), (FP32, FP32, True)]
)
def test_types_and_scales(
    variant: str, key_t: torch.dtype, kv_t: torch.dtype, has_scales: bool
) -> None:
    call = make_call(key_t, kv_t, has_scales=has_scales)
    assert_rounded_once(call, call.run(kernel_of("rope_write_kv", variant)))


@pytest.mark.parametrize("variant", KERNELS)
@pytest.mark.parametrize("layout", ORDERS)
def test_layouts(variant: str, layout: str) -> None:
    call = make_call(layout=layout, num_q_heads=3, num_kv_heads=1)
    assert_rounded_once(call, call.run(kernel_of("rope_write_kv", variant)))


@pytest.mark.parametrize("num_tokens", [0, 1, 23])
@pytest.mark.parametrize("interleaved", [False, True])
def test_variants_agree_in_every_bit(num_tokens: int, interleaved: bool) -> None:
    call = make_call(num_tokens=num_tokens, interleaved=interleaved, head_dim=48)
    simple, vector = (call.run(spec_of("rope_write_kv", variant)) for variant in VARIANTS)
    assert difference(simple, vector) is None
    orders = InterpretConfig(seed=5, poison=0, guard="begin")
    assert difference(vector, call.run(spec_of("rope_write_kv", "vector"), orders)) is None


@pytest.mark.parametrize("variant", KERNELS)
def test_a_position_outside_of_the_table_gives_zeros_and_writes_nothing(variant: str) -> None:
    call = make_call(num_tokens=4)
    *others, _, cos_sin, scales = call.operands
    outside = torch.tensor([-1, MAX_POSITIONS, 2**40, -(2**63)])
    padded = Call(op=call.op, operands=(*others, outside, cos_sin, scales), numbers=call.numbers)
    out, written = padded.run(kernel_of("rope_write_kv", variant))
    assert torch.equal(bits(out), torch.zeros_like(bits(out)))
    pool = call.operands[3]
    assert pool is not None
    assert torch.equal(bits(written), bits(pool))


@pytest.mark.parametrize("variant", KERNELS)
def test_a_skipped_slot_still_turns_its_query(variant: str) -> None:
    call = make_call(num_tokens=4)
    query, key, value, pool, _, positions, cos_sin, _ = call.operands
    nowhere = torch.tensor([-1, 24, 2**33, -7])
    operands = (query, key, value, pool, nowhere, positions, cos_sin, None)
    skipping = Call(op=call.op, operands=operands, numbers=call.numbers)
    out, written = skipping.run(kernel_of("rope_write_kv", variant))
    assert torch.equal(bits(out), bits(call.run(kernel_of("rope_write_kv", variant))[0]))
    assert pool is not None
    assert torch.equal(bits(written), bits(pool))
