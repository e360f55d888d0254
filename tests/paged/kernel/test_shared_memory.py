"""What a block's shared memory may take, and what a kernel's arrays take of it."""

from __future__ import annotations

import pytest

from paged.kernel.shared_memory import MAX_STATIC_BYTES, static_bytes, why_too_large

ARRAYS = {
    "_ZZN12_GLOBAL__N_13oneIfEEvPKT_PS1_iE3low": 20,
    "_ZZN12_GLOBAL__N_13oneIfEEvPKT_PS1_iE4high": 100,
    "_ZZ3twoE4tile": 3,
    "_ZZN2ns6helperIfEET_S1_E5inner": 4000,
}
OF_DOUBLES = "_ZZN12_GLOBAL__N_13oneIdEEvPKT_PS1_iE3low"


def test_arrays_of_other_kernels_do_not_count() -> None:
    assert static_bytes("ns::one<float>", ["one", "two"], ARRAYS) == 120
    assert static_bytes("two", ["one", "two"], ARRAYS) == 3
    assert static_bytes("three", ["one", "two", "three"], ARRAYS) == 0


def test_instances_of_a_kernel_do_not_add_up() -> None:
    both = {**ARRAYS, OF_DOUBLES: 500}
    assert static_bytes("one<double>", ["one"], both) == 120
    assert static_bytes("one<double>", ["one"], {OF_DOUBLES: 500}) == 500


def test_all_arrays_are_those_of_the_only_kernel() -> None:
    assert static_bytes("one<float>", ["one"], ARRAYS) == sum(ARRAYS.values())


@pytest.mark.parametrize(
    ("static", "dynamic"), [(0, 0), (MAX_STATIC_BYTES, 0), (0, 232_448), (4096, 228_352)]
)
def test_what_some_gpu_has_is_not_too_large(static: int, dynamic: int) -> None:
    assert why_too_large(static, dynamic) is None


def test_static_memory_has_a_limit_of_its_own() -> None:
    why = why_too_large(MAX_STATIC_BYTES + 1)
    assert why is not None
    assert why.startswith("a block has at most 49,152 bytes of static shared memory, got 49,153")


def test_both_together_have_another() -> None:
    why = why_too_large(4096, 228_353)
    assert why is not None
    assert "166,912 on sm_80, 101,376 on sm_86" in why
    assert why.endswith("got 232,449: 228,353 dynamic and 4,096 static")
