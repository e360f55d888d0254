"""What the blocks of a call take of the processor."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import kernel_call
from paged.kernel.measure.processor_time import processor_s
from paged.kernel.measure.workloads import workloads_of
from paged.kernel.registry import find_op
from paged.kernel.variant import find_variant
from tests.helpers.measured import CPU

SPEC = find_variant(find_op("copy_blocks"), "vector").spec
SEED = 1
Operands = Sequence[torch.Tensor | None]


@pytest.mark.parametrize("sanitize", [False, True])
def test_the_call_is_made_and_takes_less_than_went_by(sanitize: bool) -> None:
    made, expected = (workloads_of("copy_blocks", CPU)["tiny"].build(CPU, SEED) for _ in range(2))
    before = [None if each is None else each.clone() for each in made.operands]
    began_s = time.perf_counter()
    taken_s = processor_s(
        SPEC,
        *made.operands,
        interpret=InterpretConfig(num_workers=1, sanitize=sanitize),
        **made.numbers,
    )
    assert 0 < taken_s < time.perf_counter() - began_s
    kernel_call(SPEC, *expected.operands, interpret=InterpretConfig(), **expected.numbers)
    assert not _equal(made.operands, before)
    assert _equal(made.operands, expected.operands)


def test_a_call_that_overlaps_itself_is_refused_as_by_a_kernel_call() -> None:
    made = workloads_of("copy_blocks", CPU)["tiny"].build(CPU, SEED)
    pool, *rest = made.operands
    assert pool is not None
    with pytest.raises(OperandError):
        processor_s(
            SPEC,
            pool[:1].expand(pool.shape),
            *rest,
            interpret=InterpretConfig(num_workers=1),
            **made.numbers,
        )


def _equal(some: Operands, others: Operands) -> bool:
    pairs = zip(some, others, strict=True)
    return all(
        (a is None and b is None) or (a is not None and b is not None and torch.equal(a, b))
        for a, b in pairs
    )
