"""Kernels without a fault are clean: the ordinary ones and the shipped ones."""

from __future__ import annotations

import pytest

from paged.kernel.call import kernel_call
from paged.kernel.sanitize import SanitizeConfig
from tests.helpers.ordinary.case import AnyOrder, Case, Tail, copied
from tests.helpers.ordinary.catalogue import ORDINARY


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_kernel_is_clean(name: str) -> None:
    for case in ORDINARY[name]():
        check(case)


def check(case: Case) -> None:
    """Sanitize a call in the natural order; other orders are the ordinary suite's."""
    operands = [copied(operand, "cpu") for operand in case.operands]
    partial = {name for name, expected in case.expected.items() if isinstance(expected, AnyOrder | Tail)}
    config = SanitizeConfig(seeds=(), partial=frozenset(partial))
    kernel_call(case.spec, *operands, interpret=config, **case.numbers)
