"""Kernels with one fault each: the sanitizer names its kind and its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paged.errors import SanitizerError
from paged.kernel.call import kernel_call
from paged.kernel.finding import KINDS, Finding
from paged.kernel.sanitize import SanitizeConfig
from tests.helpers.wrong_kernels import WrongKernel, wrong_kernels

WRONG = wrong_kernels()


EXAMPLES = re.compile(r"^`(\w+)\.cu`:\n\n```cuda\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    """Return the sanitizer's page."""
    return (repository / "docs" / "sanitizer.md").read_text()


def test_the_page_has_every_kind(page: str) -> None:
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == set(KINDS)


def test_the_examples_of_the_page_are_parts_of_these_kernels(page: str) -> None:
    examples = EXAMPLES.findall(page)
    assert len(examples) == len(KINDS) - 1
    for name, code in examples:
        assert code in WRONG[name].path.read_text()


def findings_of(kernel: WrongKernel) -> tuple[Finding, ...]:
    """Return what the sanitizer finds."""
    config = SanitizeConfig(timeout_s=kernel.timeout_s)
    with pytest.raises(SanitizerError) as raised:
        kernel_call(kernel.spec, *kernel.operands, interpret=config)
    return raised.value.findings


def test_there_are_at_least_twenty() -> None:
    assert len(WRONG) >= 20
    # reads of unlisted slots are planted in the shipped kernels
    assert {kernel.kind for kernel in WRONG.values()} == set(KINDS) - {"unlisted_slot"}


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


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("past_a_static_array", "index 64 is outside of low, an array of type 'float [64]'"),
        ("past_its_own_array", "index 4 is outside of sums, an array of type 'float [4]'"),
    ],
)
def test_an_index_names_the_array_that_it_leaves(name: str, array: str) -> None:
    (found,) = findings_of(WRONG[name])
    assert found.message == array


def test_a_fault_in_a_function_tells_the_line_of_the_kernel() -> None:
    kernel = WRONG["wrong_index_for_a_function"]
    (line,) = (
        number
        for number, text in enumerate(kernel.path.read_text().splitlines(), 1)
        if "doubled(x" in text
    )
    for finding in findings_of(kernel):
        assert finding.place.callers == ((str(kernel.path), line),)
