"""The attention op's reference against torch's own attention, its least work and its checks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.binding import bind
from paged.kernel.cost import least_work
from paged.kernel.ops.attention import OP, visible_slots
from paged.kernel.ops.attention_cases import AttentionCase, AttentionProblem, make_problem
from paged.kernel.variant import find_variant

CASE = AttentionCase(
    q_t="float32",
    kv_t="float32",
    group_size=3,
    num_kv_heads=2,
    seq_lens=(9, 33, 20),
    query_lens=(9, 5, 1),
)


def contiguous(problem: AttentionProblem, seq: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return keys and values [num_kv_heads, num_keys, head_dim] of a sequence, slot by slot."""
    pool, tables, lengths = problem.operands[1:4]
    assert pool is not None
    assert tables is not None
    assert lengths is not None
    block_size = pool.shape[4]
    places = [divmod(key, block_size) for key in range(int(lengths[seq]))]
    rows = [pool[int(tables[seq, entry]), 1, :, :, slot].double() for entry, slot in places]
    keys, values = torch.stack(rows, dim=2)
    return keys, values


def queries(problem: AttentionProblem, seq: int) -> torch.Tensor:
    """Return a sequence's queries [num_q_heads, num_rows, head_dim]."""
    query, start = problem.operands[0], problem.operands[4]
    assert query is not None
    assert start is not None
    return query[int(start[seq]) : int(start[seq + 1])].double().transpose(0, 1)


def sdpa(problem: AttentionProblem, seq: int, bias: torch.Tensor) -> torch.Tensor:
    """Return torch's attention of a sequence, [num_rows, num_q_heads, head_dim]."""
    keys, values = contiguous(problem, seq)
    scale = problem.numbers["scale"]
    assert scale is not None
    out = torch.nn.functional.scaled_dot_product_attention(
        queries(problem, seq),
        keys.repeat_interleave(CASE.group_size, dim=0),
        values.repeat_interleave(CASE.group_size, dim=0),
        attn_mask=bias,
        scale=scale,
    )
    return out.transpose(0, 1)


def distances(num_rows: int, num_keys: int) -> torch.Tensor:
    """Return each key's position less each query's, [num_rows, num_keys]."""
    return torch.arange(num_keys) - torch.arange(num_keys - num_rows, num_keys)[:, None]


@pytest.mark.parametrize("window", [None, 1, 4])
@pytest.mark.parametrize("has_alibi", [False, True])
def test_the_reference_equals_torchs_attention(window: int | None, has_alibi: bool) -> None:
    made = make_problem(replace(CASE, has_alibi=has_alibi))
    problem = AttentionProblem(operands=made.operands, numbers={**made.numbers, "window": window})
    out, _ = problem.exact
    slopes = problem.operands[5]
    begin = 0
    for seq, (num_keys, num_rows) in enumerate(zip(CASE.seq_lens, CASE.query_lens, strict=True)):
        distance = distances(num_rows, num_keys)
        seen = (distance <= 0) & (distance > -(window or num_keys))
        bias = torch.zeros(distance.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)
        if slopes is not None:
            bias = bias + slopes[:, None, None].double() * distance
        expected = sdpa(problem, seq, bias)
        assert torch.allclose(out[begin : begin + num_rows], expected, atol=1e-12)
        begin += num_rows


def test_lse_softcap_sink_and_scales_by_hand() -> None:
    case = replace(CASE, seq_lens=(3,), query_lens=(1,), softcap=2.0, has_sinks=True)
    problem = make_problem(replace(case, has_scales=True))
    out, lse = problem.exact
    keys, values = contiguous(problem, 0)
    sinks, scales = problem.operands[6:8]
    assert sinks is not None
    assert scales is not None
    for head in range(6):
        kv_head = head // 3
        query, stored = queries(problem, 0)[head, 0], keys[kv_head]
        scale = float(problem.numbers["scale"] or 0) * float(scales[1, 0, kv_head])
        logits = [2 * math.tanh(float(query @ key) * scale / 2) for key in stored]
        weights = [math.exp(logit) for logit in logits]
        total = sum(weights) + math.exp(float(sinks[head]))
        expected = sum(
            w / total * v * float(scales[1, 1, kv_head])
            for w, v in zip(weights, values[kv_head], strict=True)
        )
        assert isinstance(expected, torch.Tensor)
        assert torch.allclose(out[0, head], expected, atol=1e-6)
        assert float(lse[0, head]) == pytest.approx(math.log(total), abs=1e-6)


def test_rows_without_keys_and_padding() -> None:
    case = replace(CASE, seq_lens=(0, 2), query_lens=(1, 3), num_padding=1, has_sinks=True)
    problem = make_problem(case)
    out, lse = problem.exact
    sinks = problem.operands[6]
    assert sinks is not None
    # token 1 is at position -1 of its sequence; the last token belongs to none
    for token in (0, 1):
        assert not out[token].any()
        assert torch.allclose(lse[token], sinks.double())
    assert not out[4].any()
    assert torch.equal(lse[4], torch.full((6,), -torch.inf, dtype=torch.float64))
    assert out[2:4].all()


def test_the_least_work_counts_visible_keys_once() -> None:
    problem = make_problem(replace(CASE, seq_lens=(9, 33), query_lens=(2, 1), window=8))
    work = least_work(bind(OP.signature, problem.operands, problem.numbers))
    # keys 0..8 of the first sequence, 25..32 of the second; 2 heads of 64 floats, keys and values
    assert work.bytes == (9 + 8) * 2 * 2 * 64 * 4 + 2 * 3 * 6 * 64 * 4 + 4 * 3 * 6
    assert work.flops == 4 * 6 * 64 * (8 + 8 + 8)


def test_visible_slots_are_those_that_hold_numbers() -> None:
    case = replace(CASE, seq_lens=(9, 33, 5), query_lens=(2, 1, 0), window=8, shares_blocks=True)
    problem = make_problem(case)
    pool = problem.operands[1]
    assert pool is not None
    seen = visible_slots(bind(OP.signature, problem.operands, problem.numbers))["kv_pool"]
    assert seen.shape[:2] == pool.shape[:2]
    assert int(seen.sum()) == 9 + 8
    # careful: a sequence without queries has keys in the pool that nobody sees
    assert not pool.masked_select(seen.expand(pool.shape)).isnan().any()
    assert int(seen[:, 0].sum()) == 0


@pytest.mark.parametrize(
    ("number", "value", "reason"),
    [("layer", 2, "layer"), ("layer", -1, "layer"), ("window", 0, "window > 0")],
)
def test_numbers_out_of_range_are_refused(number: str, value: int, reason: str) -> None:
    problem = make_problem(CASE)
    with pytest.raises(OperandError, match=reason):
        bind(OP.signature, problem.operands, {**problem.numbers, number: value})


def test_heads_must_divide_into_groups() -> None:
    problem = make_problem(CASE)
    query = torch.zeros(15, 5, 64)
    with pytest.raises(OperandError, match="num_q_heads % num_kv_heads == 0"):
        bind(OP.signature, (query, *problem.operands[1:]), problem.numbers)


@pytest.mark.parametrize(
    ("types", "query_lens", "head_dim", "expected"),
    [
        ({}, (1, 1, 1), 64, "v2"),
        ({}, (9, 5, 1), 64, "prefill_naive"),
        ({"q_t": "float16", "kv_t": "float16"}, (1, 1, 1), 64, "v2"),
        ({"q_t": "float16", "kv_t": "float8_e4m3fn"}, (9, 5, 1), 64, "prefill_tiled"),
        ({"q_t": "float16", "kv_t": "float16"}, (9, 5, 1), 72, "prefill_naive"),
        ({}, (9, 5, 1), 20, "v1g"),
        ({}, (9, 5, 1), 512, "v1g"),
    ],
)
def test_the_chosen_variant_takes_the_call(
    types: dict[str, str], query_lens: tuple[int, ...], head_dim: int, expected: str
) -> None:
    problem = make_problem(replace(CASE, query_lens=query_lens, head_dim=head_dim, **types))
    name = OP.choose(bind(OP.signature, problem.operands, problem.numbers))
    assert name == expected
    bind(find_variant(OP, name).spec, problem.operands, problem.numbers)
