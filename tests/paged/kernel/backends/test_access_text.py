"""A wild access is told by what lies around its address, and by what may have led there."""

from __future__ import annotations

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel import KernelSpec, Launch, Operand, Scalar, kernel_call
from paged.kernel.backends.access_text import FAR_BYTES, NEAR_BYTES, AccessText
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.backends.launch_memory import launch_memory
from paged.kernel.launch import LaunchRequest, Pointer

POOL_AT, TABLE_AT = 1 << 45, 1 << 46
STEP_BYTES = 3 * 4 * 8 * 4
"""From a block of the pool to the next."""


def access_text(*left_out: str, poison: int = 0xFF) -> AccessText:
    """Return the text of a launch on a pool of five blocks, and a table of four integers."""
    tensors = {"pool": torch.zeros(5, 3, 4, 8), "table": torch.zeros(4, dtype=torch.int32)}
    pointers = tuple(
        Pointer(operand=name, tensor=t, intent="in", argument_index=i, offset_bytes=0)
        for i, (name, t) in enumerate(tensors.items())
    )
    request = LaunchRequest(
        entry="k", grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0, arguments=(), pointers=pointers
    )
    memory = launch_memory(request)
    mapped = [0, 0]
    for index, address in enumerate((POOL_AT, TABLE_AT)):
        mapped[memory.span_of[index]] = address
    return AccessText(memory=memory, mapped=mapped, left_out=left_out, poison=poison)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (17, "operand 'pool', 17 bytes from its start (element 4 in memory), which is decl"),
        (5 * STEP_BYTES + 8, "8 bytes (2 elements) past the end of operand 'pool', which has"),
        (-4 - STEP_BYTES, f"{STEP_BYTES + 4} bytes (97 elements) before the start of operand 'po"),
        (TABLE_AT - POOL_AT - 1, "1 bytes (1 elements) before the start of operand 'table'"),
    ],
)
def test_the_nearest_operand_is_named(offset: int, expected: str) -> None:
    text = access_text().of_address(POOL_AT + offset)
    assert text.startswith(expected)
    assert "undefined" not in text
    assert "another operand" not in text


@pytest.mark.parametrize(
    ("poison", "index"),
    [
        (0xFF, -1),
        (0xFF, 0xFFFFFFFF),
        (0x11, 0x11111111),
        (0x80, 0x80808080),
        (0x80, 0x80808080 - (1 << 32)),
    ],
)
@pytest.mark.parametrize("inside", [0, STEP_BYTES - 1])
def test_an_index_read_from_undefined_memory_is_told(poison: int, index: int, inside: int) -> None:
    address = POOL_AT + index * STEP_BYTES + inside
    text = access_text(poison=poison).of_address(address)
    assert f"; index {index} on axis 0 of operand 'pool' leads there, which is what" in text
    other = access_text(poison=poison ^ 0x5A).of_address(address)
    assert "undefined" not in other


def test_an_undefined_index_along_the_last_axis_is_told() -> None:
    text = access_text().of_address(TABLE_AT + 4 * 0xFFFFFFFF)
    assert "past the end of operand 'table'" in text
    assert "; index 4294967295 on axis 0 of operand 'table'" in text


def test_one_element_before_the_first_is_no_undefined_index() -> None:
    text = access_text().of_address(TABLE_AT - 4)
    assert text.endswith("before the start of operand 'table', which has 16 bytes")


def test_a_far_access_may_have_been_meant_for_another_operand() -> None:
    far = access_text().of_address(TABLE_AT + FAR_BYTES + 100)
    assert far.endswith("16 bytes; an index of another operand may have led so far, too")
    beyond = access_text().of_address(TABLE_AT + 2 * NEAR_BYTES)
    assert beyond == f"address {TABLE_AT + 2 * NEAR_BYTES:#x}, which belongs to no operand"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (0x14, "a null pointer (address 0x14)"),
        (1 << 20, "1048576 bytes past a null pointer (address 0x100000)"),
        ((1 << 64) - 8, "8 bytes before a null pointer (address 0xfffffffffffffff8)"),
    ],
)
def test_an_access_by_a_null_pointer_names_what_was_left_out(address: int, expected: str) -> None:
    assert access_text().of_address(address) == f"{expected}; was an optional operand left out?"
    named = access_text("lse", "sinks").of_address(address)
    assert named == f"{expected}; left out of this call: 'lse', 'sinks'"


ROWS = KernelSpec(
    name="rows",
    source="""
extern "C" __global__ void rows(const int* table, const float* pool, float* out, float* lse, int n,
                                int far) {
  out[threadIdx.x] = pool[(long long)table[threadIdx.x] * n + threadIdx.x];
  if (far != 0) lse[far] = 1.0f;
}
""",
    launches=(Launch(entry="rows", grid=1, block="m"),),
    operands=(
        Operand(name="table", shape="m", dtype="int32"),
        Operand(name="pool", shape="blocks n", dtype="float32"),
        Operand(name="out", shape="m", dtype="float32", intent="out"),
        Operand(name="lse", shape="m", dtype="float32", intent="inout", is_optional=True),
    ),
    scalars=(Scalar(name="far", dtype="int32"),),
    parameters=("table", "pool", "out", "lse", "n", "far"),
)


def failure(table: list[int], far: int = 0) -> str:
    """Return the text of a call that fails."""
    pool = torch.zeros(20, 4096)
    config = InterpretConfig(num_workers=1)
    with pytest.raises(KernelRunError) as caught:
        kernel_call(
            ROWS, torch.tensor(table, dtype=torch.int32), pool, None, interpret=config, far=far
        )
    return str(caught.value)


def test_a_block_table_that_was_not_filled_is_told() -> None:
    text = failure([3, -1])
    assert "read from 16380 bytes (4095 elements) before the start of operand 'pool'" in text
    assert "; index -1 on axis 0 of operand 'pool' leads there" in text
    assert "thread (1, 0, 0)" in text


@pytest.mark.parametrize("far", [7, 1 << 20])
def test_an_absent_operand_is_named(far: int) -> None:
    text = failure([0], far)
    assert f"wrote to {'a' if far == 7 else f'{4 * far} bytes past a'} null pointer" in text
    assert "; left out of this call: 'lse' (at <rows>:5" in text
