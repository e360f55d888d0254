"""Kernels with one fault each: the sanitizer names its kind and its line."""

from __future__ import annotations

import pytest

from paged.errors import SanitizerError
from paged.kernel.call import kernel_call
from paged.kernel.finding import Finding
from tests.helpers.wrong_kernels import WrongKernel, wrong_kernels

WRONG = wrong_kernels()


def findings_of(kernel: WrongKernel) -> tuple[Finding, ...]:
    """Return what the sanitizer finds."""
    with pytest.raises(SanitizerError) as raised:
        kernel_call(kernel.spec, *kernel.operands, interpret="sanitize")
    return raised.value.findings


def test_there_are_at_least_twenty() -> None:
    assert len(WRONG) >= 20
    assert len({kernel.kind for kernel in WRONG.values()}) >= 17


@pytest.mark.parametrize("name", WRONG)
def test_the_fault_is_named_with_its_kind_and_line(name: str) -> None:
    kernel = WRONG[name]
    findings = findings_of(kernel)
    text = "\n".join(map(str, findings))
    assert {finding.kind for finding in findings} == {kernel.kind}, text
    if kernel.line is not None:
        places = [place for f in findings for place in (f.place, f.other) if place is not None]
        named = {(place.file, place.line) for place in places}
        assert (str(kernel.path), kernel.line) in named, text
