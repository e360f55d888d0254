"""Nothing wrong gets past the check that comes before timing."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.measure.candidate import (
    Candidate,
    Unserved,
    fault_of,
    kernel_candidate,
    operand_bytes,
)
from paged.kernel.problem import Problem, Tensors
from paged.kernel.registry import find_op
from paged.kernel.variant import find_variant
from tests.helpers.measured import CPU, WORKLOAD, exact, spoiled, with_shape


def faults(candidate: Candidate, op: str = "attention") -> str | None:
    return fault_of(candidate, op, [WORKLOAD.build(CPU, seed) for seed in (1, 2)])


def test_the_reference_is_right() -> None:
    assert faults(exact()) is None


def test_output_alone_is_judged_where_there_is_no_lse() -> None:
    assert faults(spoiled(lambda _, results: results[:1])) is None
    fault = faults(spoiled(lambda _, results: (results[0] + 0.1,)))
    assert fault is not None
    assert fault.startswith("out[")


def test_a_wrong_result_is_a_fault() -> None:
    fault = faults(spoiled(lambda _, results: (results[0], results[1] + 0.1)))
    assert fault is not None
    assert fault.startswith("lse[")


def test_one_buffer_for_all_results_is_a_fault() -> None:
    buffer = torch.empty(3, 6, 16)
    assert faults(spoiled(lambda _, results: (buffer.copy_(results[0]), results[1]))) is not None


def test_the_result_of_an_earlier_call_is_a_fault() -> None:
    kept: list[Tensors] = []

    def first(_: Problem, results: Tensors) -> Tensors:
        kept.append(results)
        return kept[0]

    assert faults(spoiled(first)) is not None


def test_changing_what_is_only_read_is_a_fault() -> None:
    def spoil(problem: Problem, results: Tensors) -> Tensors:
        pool = problem.operands[1]
        assert pool is not None
        pool[0, 0, 0, 0, 0, 0] += 1
        return results

    assert faults(spoiled(spoil)) == "operand 'kv_pool' is only to be read, but was changed"


def test_a_kernel_runs_in_the_interpreter() -> None:
    spec = find_variant(find_op("attention"), "v0").spec
    assert faults(kernel_candidate("v0", spec, InterpretConfig())) is None


def test_a_kernel_says_what_it_does_not_serve() -> None:
    spec = find_variant(find_op("attention"), "prefill_tiled").spec
    candidate = kernel_candidate("prefill_tiled", spec, InterpretConfig())
    with pytest.raises(Unserved, match="must be float16 or bfloat16"):
        candidate.prepare(with_shape().build(CPU, 1))


def test_operands_are_counted() -> None:
    problem = WORKLOAD.build(CPU, 1)
    # query, pool of 1 + 2 + 1 blocks of 16, tables, lengths, starts
    pool_bytes = 4 * 2 * 2 * 16 * 16 * 4
    assert operand_bytes(problem) == 3 * 6 * 16 * 4 + pool_bytes + 3 * 2 * 4 + 3 * 4 + 4 * 4
