"""Reports of wrong attention kernels elsewhere: one test each, on every variant it concerns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import AttentionCase, AttentionProblem, make_problem
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant, shipped_variants
from tests.helpers.attention_matrix import fault, run
from tests.helpers.cache_calls import mutant_of
from tests.helpers.kv_pools import sparse_tensor

NAMES = tuple(shipped_variants(OP))

DECODE = AttentionCase(
    group_size=2, num_kv_heads=2, seq_lens=(1, 17, 40, 1100), query_lens=(1, 1, 1, 1)
)


@pytest.fixture(params=NAMES)
def spec(request: pytest.FixtureRequest) -> KernelSpec:
    return find_variant(OP, request.param).spec


def test_undefined_values_after_the_end_stay_out(spec: KernelSpec) -> None:
    """Reported as vLLM #936, flash-attention #1745 and #2374, FlashInfer #941: 0 * NaN."""
    pool = make_problem(DECODE).operands[1]
    assert pool is not None
    assert torch.isnan(pool).any()
    assert fault(spec, DECODE) is None


def test_slots_that_are_not_visible_are_not_read(spec: KernelSpec) -> None:
    """Reported as vLLM #47305, #49588: reads past the end and before the window."""
    assert fault(spec, replace(DECODE, seq_lens=(17, 40, 1100, 5000), window=70)) is None


def test_a_sequence_without_keys_gives_zeros(spec: KernelSpec) -> None:
    """FlashInfer #4975, flash-attention #978: rows left unwritten, lse of +infinity."""
    case = replace(DECODE, seq_lens=(0, 7), query_lens=(1, 1))
    out, lse = run(spec, make_problem(case))
    assert torch.equal(out[0], torch.zeros_like(out[0]))
    assert torch.equal(lse[0], torch.full_like(lse[0], -torch.inf))
    assert torch.isfinite(lse[1]).all()


def test_empty_parts_merge_to_an_empty_whole(spec: KernelSpec) -> None:
    """FlashInfer #4051, vLLM #28181 and #39148: -infinity less -infinity."""
    problem = make_problem(replace(DECODE, seq_lens=(0, 1100), query_lens=(3, 1), window=1))
    assert problem.fault(*run(spec, problem)) is None


def test_logits_far_below_zero_count(spec: KernelSpec) -> None:
    """FlashInfer #4450: logits under a sentinel of -5e4 gave zeros."""
    problem = make_problem(replace(DECODE, seq_lens=(40,), query_lens=(1,)))
    query, pool, tables, *_ = problem.operands
    assert query is not None
    assert pool is not None
    assert tables is not None
    query.fill_(10.0)
    for block in tables[0, :3]:
        pool[int(block), 1, 0] = -10.0
    scaled = AttentionProblem(operands=problem.operands, numbers={**problem.numbers, "scale": 10.0})
    out, lse = run(spec, scaled)
    exact_out, exact_lse = scaled.exact
    assert float(exact_lse.max()) < -6e4
    # logits are rounded to 24 bits
    assert torch.allclose(lse.double(), exact_lse, rtol=2e-7, atol=0)
    assert torch.allclose(out.double(), exact_out, rtol=0.01, atol=1e-3)


def test_lanes_beyond_the_end_have_no_weight(spec: KernelSpec) -> None:
    """FlashInfer #3716: padding in the denominator; equal scores must give the mean."""
    problem = make_problem(replace(DECODE, seq_lens=(1, 3, 33, 70)))
    query = problem.operands[0]
    assert query is not None
    query.zero_()
    out, lse = run(spec, problem)
    assert problem.fault(out, lse) is None
    expected = torch.tensor([1.0, 3.0, 33.0, 70.0]).log()[:, None].expand(-1, 4)
    assert torch.allclose(lse, expected, atol=1e-6)


def test_the_lse_does_not_depend_on_splits(spec: KernelSpec) -> None:
    """FlashInfer #58, pytorch/torchtitan #3235: wide tables bring more splits, equal results."""
    problem = make_problem(replace(DECODE, seq_lens=(1300,), query_lens=(1,)))
    natural = run(spec, problem)
    assert problem.fault(*natural) is None
    tables = problem.operands[2]
    assert tables is not None
    for num_more in (1, 200, 2000):
        wide = torch.nn.functional.pad(tables, (0, num_more), value=int(tables[0, -1]))
        operands = (*problem.operands[:2], wide, *problem.operands[3:])
        widened = run(spec, AttentionProblem(operands=operands, numbers=problem.numbers))
        assert all(torch.equal(a, b) for a, b in zip(natural, widened, strict=True))


def far_fault(spec: KernelSpec) -> str | None:
    """Say what changes when blocks move past 2^31 elements."""
    case = replace(DECODE, block_size=1, num_kv_heads=1, seq_lens=(3,), query_lens=(1,))
    problem = make_problem(case)
    query, near, tables, *others = problem.operands
    assert near is not None
    assert tables is not None
    pool = sparse_tensor((2**24 + 1, *near.shape[1:]), torch.float16)
    far = tables.clone()
    for entry, block in enumerate((2**24, 70_000, 2**24 - 3)):
        pool[block] = near[int(tables[0, entry])]
        far[0, entry] = block
    moved = AttentionProblem(operands=(query, pool, far, *others), numbers=problem.numbers)
    return problem.fault(*run(spec, moved))


def test_offsets_pass_two_to_the_31_elements(spec: KernelSpec) -> None:
    """Reported as vLLM #50427, flash-attention #772, ROCm/ATOM #702: ids up to 2^24."""
    assert far_fault(spec) is None


@pytest.mark.parametrize("layout", ["interleaved", "odd_pitch"])
def test_strides_are_taken_as_they_are(spec: KernelSpec, layout: str) -> None:
    """ROCm/aiter #3498, vLLM #41257 and #45466: derived strides, rows at odd addresses."""
    assert fault(spec, replace(DECODE, layout=layout)) is None


def beyond_fault(spec: KernelSpec) -> str | None:
    """Say what is wrong where sequences are longer than their tables."""
    problem = make_problem(replace(DECODE, seq_lens=(64, 128), query_lens=(1, 1)))
    tables = problem.operands[2]
    assert tables is not None
    operands = (
        *problem.operands[:2],
        tables[:, :4].contiguous(),
        torch.tensor([100, 2**31 - 1], dtype=torch.int32),
        *problem.operands[4:],
    )
    longer = AttentionProblem(operands=operands, numbers=problem.numbers)
    return longer.fault(*run(spec, longer))


def test_lengths_beyond_the_table_are_clamped(spec: KernelSpec) -> None:
    """flash-attention #2709 and #2711: the table was read past its end."""
    assert beyond_fault(spec) is None


def test_several_sequences_are_split_at_once(spec: KernelSpec) -> None:
    """flash-attention #1217: with splits, all rows were written over the first."""
    assert fault(spec, replace(DECODE, seq_lens=(1100, 600, 1300), query_lens=(1, 2, 1))) is None


@pytest.mark.parametrize("group_size", [6, 17])
def test_any_group_is_served(spec: KernelSpec, group_size: int) -> None:
    """FlashInfer #996, #2684 and #3563: groups beside a fixed few were refused."""
    case = replace(DECODE, group_size=group_size, seq_lens=(40, 7), query_lens=(1, 1))
    assert fault(spec, case) is None


def test_scales_count(spec: KernelSpec) -> None:
    """FlashInfer #1023 and #4979: scales were dropped on some paths."""
    problem = make_problem(replace(DECODE, has_scales=True))
    results = run(spec, problem)
    assert problem.fault(*results) is None
    without = AttentionProblem(operands=problem.operands[:7], numbers=problem.numbers)
    assert without.fault(*results) is not None


def test_there_is_no_limit_of_length(spec: KernelSpec) -> None:
    """Reported as vLLM #1370 and #1510: logits in shared memory ended at 41,000 keys."""
    case = replace(DECODE, num_kv_heads=1, seq_lens=(42_000,), query_lens=(1,), block_size=256)
    assert fault(spec, case) is None


def test_a_batch_may_change_under_captured_shapes(spec: KernelSpec) -> None:
    """SGLang #1779, FastDeploy #3104, rtp-llm #1254: padded rows, plans of old lengths."""
    case = replace(DECODE, seq_lens=(600, 40, 17, 5))
    first, second = make_problem(case), make_problem(replace(case, seed=1))
    assert first.fault(*run(spec, first)) is None
    for own, other in zip(first.operands, second.operands, strict=True):
        if own is not None and other is not None:
            own.copy_(other)
    lengths = first.operands[3]
    assert lengths is not None
    lengths[2:] = 0
    changed = AttentionProblem(operands=first.operands, numbers=first.numbers)
    out, lse = run(spec, changed)
    assert changed.fault(out, lse) is None
    assert not out[2:].any()


def test_a_row_does_not_depend_on_its_batch(spec: KernelSpec) -> None:
    """flash-attention #1897, FlashMLA #212: other rows changed the last bits."""
    case = replace(DECODE, seq_lens=(1100, 0, 17, 513), query_lens=(1, 1, 1, 2), has_alibi=True)
    problem = make_problem(case)
    query, pool, tables, lengths, start, *others = problem.operands
    out, lse = run(spec, problem)
    assert problem.fault(out, lse) is None
    assert query is not None
    assert tables is not None
    assert lengths is not None
    assert start is not None
    for i in range(len(case.seq_lens)):
        rows = slice(int(start[i]), int(start[i + 1]))
        own_start = torch.tensor([0, rows.stop - rows.start], dtype=torch.int32)
        alone = AttentionProblem(
            operands=(query[rows], pool, tables[i : i + 1], lengths[i : i + 1], own_start, *others),
            numbers=problem.numbers,
        )
        own_out, own_lse = run(spec, alone)
        assert torch.equal(own_out, out[rows]), i
        assert torch.equal(own_lse, lse[rows]), i


def test_a_window_of_one_sees_the_token_itself(spec: KernelSpec) -> None:
    """ZML #763, transformers #39408: windows were off by one."""
    problem = make_problem(replace(DECODE, window=1))
    out, _ = run(spec, problem)
    pool, tables = problem.operands[1:3]
    assert pool is not None
    assert tables is not None
    for token, length in enumerate(DECODE.seq_lens):
        block, slot = divmod(length - 1, DECODE.block_size)
        own = pool[int(tables[token, block]), 1, 1, :, slot]
        assert torch.equal(out[token], own.repeat_interleave(2, dim=0)), token


def is_noticed(check: Callable[[], str | None]) -> bool:
    try:
        return check() is not None
    except KernelRunError:
        return True


@pytest.mark.parametrize(
    ("check", "file", "old", "new"),
    [
        (
            far_fault,
            "kv_rows.cuh",
            "table[block] * block_stride",
            "int(table[block] * block_stride)",
        ),
        (far_fault, "kv_rows.cuh", "table[block] * block", "(table[block] & 0xffff) * block"),
        (beyond_fault, "visible_keys.cuh", "min(position + 1LL, capacity)", "position + 1LL"),
    ],
)
def test_the_mistakes_of_the_reports_are_noticed(
    check: Callable[[KernelSpec], str | None], file: str, old: str, new: str, tmp_path: Path
) -> None:
    wrong = mutant_of(find_variant(OP, "v1").spec, tmp_path, file, old, new)
    assert is_noticed(lambda: check(wrong))
