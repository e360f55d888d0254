"""Where a call meets its kernel."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from paged.errors import KernelSourceError, OperandError
from paged.kernel.choice import use_kernel
from paged.kernel.ops.problems import problems_of
from paged.kernel.problem import results_of, same_bits
from paged.kernel.registry import OP_NAMES, current_variant, find_op, ops, run_op


def test_operations_are_found_by_name() -> None:
    assert list(ops()) == list(OP_NAMES)
    assert all(find_op(name).name == name for name in OP_NAMES)
    with pytest.raises(KernelSourceError, match=r"expected an op of attention, .*got 'softmax'"):
        find_op("softmax")
    with pytest.raises(KernelSourceError, match="got 'copy_block'; did you mean 'copy_blocks'"):
        find_op("copy_block")


@pytest.mark.parametrize("name", ["copy_blocks", "write_kv"])
def test_a_variant_and_the_reference_give_the_same_bits(name: str) -> None:
    op = find_op(name)
    problem = next(problems_of(op))

    def served(variant: str) -> tuple[torch.Tensor, ...]:
        operands = [None if t is None else t.clone() for t in problem.operands]
        choice: dict[str, Any] = {name: variant}
        with use_kernel(**choice):
            outputs = run_op(op, operands, problem.numbers)
        return results_of(op.signature, operands, outputs)

    assert same_bits(served("vector"), served("reference")) is None


def test_optional_operands_may_be_left_out() -> None:
    op = find_op("write_kv")
    problem = next(problems_of(op))
    assert problem.operands[-1] is None
    assert run_op(op, problem.operands[:-1], problem.numbers) is None


def test_the_reference_checks_its_operands_too() -> None:
    op = find_op("copy_blocks")
    with pytest.raises(OperandError, match="copy_blocks: operand 'pairs' must be int64"):
        run_op(op, (torch.zeros(1, 1, 2, 1, 1, 4), torch.zeros(1, 2)), {})


def test_a_variant_is_loaded_once_while_its_file_stays() -> None:
    op = find_op("copy_blocks")
    assert current_variant(op, "simple") is current_variant(op, "simple")
