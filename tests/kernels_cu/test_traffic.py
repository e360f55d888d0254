"""What each shipped kernel moves, operand by operand, held to its budget over the least bytes."""

from __future__ import annotations

from functools import lru_cache

import pytest

from paged.kernel.measure.workloads import workloads_of
from paged.kernel.registry import OP_NAMES, find_op
from paged.kernel.traffic import Traffic, measure_traffic
from paged.kernel.variant import find_variant, shipped_variants
from tests.helpers.measured import CPU

ONCE = 1.02
"""Each byte moved once, but for what a row's ends waste."""
GROUP_SIZE = 4

BUDGETS: dict[tuple[str, str, str], dict[str, float]] = {
    ("attention", "tiny", "v0"): {"query": ONCE, "kv_pool": 34.0, "out": ONCE, "lse": 8.0},
    ("attention", "tiny", "v1"): {"query": ONCE, "kv_pool": 4.0 * ONCE, "out": ONCE, "lse": 8.0},
    ("attention", "tiny", "v1g"): {"query": ONCE, "kv_pool": ONCE, "out": ONCE, "lse": 8.0},
    ("attention", "tiny", "v2"): {"query": ONCE, "kv_pool": ONCE, "out": ONCE, "lse": 8.0},
    ("attention", "tiny-prefill", "prefill_naive"): {"query": ONCE, "kv_pool": 3.5, "out": 2.0},
    ("attention", "tiny-prefill", "prefill_tiled"): {"query": ONCE, "kv_pool": ONCE, "out": ONCE},
    ("write_kv", "tiny", "simple"): {"key": ONCE, "value": ONCE, "kv_pool": ONCE},
    ("write_kv", "tiny", "vector"): {"key": ONCE, "value": ONCE, "kv_pool": ONCE},
    ("rope_write_kv", "tiny", "simple"): {
        **{"query": 2.0, "key": 2.0, "value": ONCE, "kv_pool": ONCE, "out": ONCE},
        **{"cos_sin": 20.0},
    },
    ("rope_write_kv", "tiny", "vector"): {
        **{"query": 2.0, "key": 2.0, "value": ONCE, "kv_pool": ONCE, "out": ONCE},
        **{"cos_sin": 7.0},
    },
    ("copy_blocks", "tiny", "simple"): {"kv_pool": ONCE},
    ("copy_blocks", "tiny", "vector"): {"kv_pool": ONCE},
    ("swap_blocks", "tiny", "simple"): {"source": ONCE, "destination": ONCE},
    ("swap_blocks", "tiny", "vector"): {"source": ONCE, "destination": ONCE},
    ("gather_kv", "tiny", "simple"): {"kv_pool": ONCE, "key": ONCE, "value": ONCE},
    ("gather_kv", "tiny", "vector"): {"kv_pool": ONCE, "key": ONCE, "value": ONCE},
}
"""By operation, workload and variant: bytes over minimum of operands, at most."""


@lru_cache(maxsize=32)
def traffic_of(op: str, workload: str, variant: str) -> Traffic:
    """Count a call of a shipped kernel on a workload."""
    problem = workloads_of(op, CPU)[workload].build(CPU, 1)
    spec = find_variant(find_op(op), variant).spec
    return measure_traffic(spec, *problem.operands, interpret=None, **problem.numbers)


def ratio(op: str, workload: str, variant: str, operand: str) -> float:
    """Return the bytes that a kernel moves of an operand over the least."""
    found = traffic_of(op, workload, variant).of(operand).bytes_over_minimum
    assert found is not None
    return found


@pytest.mark.parametrize(("op", "workload", "variant"), BUDGETS)
def test_a_kernel_keeps_to_its_budget(op: str, workload: str, variant: str) -> None:
    budget = BUDGETS[op, workload, variant]
    found = {operand: ratio(op, workload, variant, operand) for operand in budget}
    over = {operand: value for operand, value in found.items() if value > budget[operand]}
    assert not over, f"expected at most {budget}, found {found}"
    # below 1 something was not seen
    assert min(found.values()) >= 1.0


def test_every_shipped_kernel_has_a_budget() -> None:
    shipped = {(op, variant) for op in OP_NAMES for variant in shipped_variants(find_op(op))}
    assert {(op, variant) for op, _, variant in BUDGETS} == shipped


def test_a_group_of_heads_reads_its_keys_once_or_each_head_for_itself() -> None:
    packed = ratio("attention", "tiny", "v1g", "kv_pool")
    alone = ratio("attention", "tiny", "v1", "kv_pool")
    assert alone / packed == pytest.approx(GROUP_SIZE, rel=0.02)


def test_splits_leave_their_sums_in_a_workspace() -> None:
    traffic = traffic_of("attention", "tiny", "v2")
    partial = traffic.of("partial")
    num_sums = 2 * GROUP_SIZE * 2 * 64  # sequences, heads, dimensions; one split each
    assert partial.write_bytes == partial.read_bytes == partial.write_sector_bytes == 4 * num_sums
    assert partial.least_bytes == 0
