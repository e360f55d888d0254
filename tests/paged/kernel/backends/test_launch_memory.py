"""Extents of operands, and the spans of memory they fall into."""

from __future__ import annotations

import torch

from paged.kernel.backends.launch_memory import extent_of, launch_memory
from paged.kernel.launch import Intent, LaunchRequest, Pointer


def pointer(tensor: torch.Tensor, intent: Intent = "in", index: int = 0) -> Pointer:
    return Pointer(
        operand=f"t{index}", tensor=tensor, intent=intent, argument_index=index, offset_bytes=8
    )


def request(*pointers: Pointer) -> LaunchRequest:
    return LaunchRequest(
        entry="k", grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0, arguments=(), pointers=pointers
    )


def test_an_extent_reaches_from_the_first_to_the_last_element() -> None:
    whole = torch.zeros(10, 6, dtype=torch.int16)
    for view, num_bytes in (
        (whole, 120),
        (whole[2:5, 1:3], (2 * 6 + 1 + 1) * 2),
        (whole.T, 120),
        (whole[0:0], 0),
        (whole[0, 0].expand(7), 2),
    ):
        extent = extent_of(pointer(view))
        assert extent.begin == view.data_ptr()
        assert extent.end - extent.begin == num_bytes


def test_overlapping_operands_share_a_span() -> None:
    whole = torch.zeros(4, 6)
    other = torch.zeros(3)
    memory = launch_memory(
        request(
            pointer(whole[:, :3], "in", 0),
            pointer(other, "in", 1),
            pointer(whole[:, 3:], "out", 2),
        )
    )
    assert len(memory.spans) == 2
    assert memory.span_of[0] == memory.span_of[2] != memory.span_of[1]
    shared = memory.spans[memory.span_of[0]]
    assert (shared.begin, shared.num_bytes) == (whole.data_ptr(), 96)
    assert shared.is_written
    assert not memory.spans[memory.span_of[1]].is_written


def test_neighbours_have_their_own_spans() -> None:
    whole = torch.zeros(8)
    memory = launch_memory(request(pointer(whole[:4]), pointer(whole[4:], "out", 1)))
    assert [span.num_bytes for span in memory.spans] == [16, 16]


def test_only_outputs_that_hold_no_input_start_undefined() -> None:
    alone, same = torch.zeros(4), torch.zeros(4)
    memory = launch_memory(
        request(
            pointer(alone, "out", 0),
            pointer(same, "in", 1),
            pointer(same, "out", 2),
            pointer(torch.zeros(0), "out", 3),
            pointer(torch.zeros(2), "workspace", 4),
        )
    )
    assert [row.is_poisoned for row in memory.operands()] == [1, 0, 0, 0, 1]


def test_the_table_tells_shapes_and_places() -> None:
    whole = torch.zeros(4, 6)
    memory = launch_memory(
        request(pointer(whole, "workspace", 0), pointer(whole[1:, 2:4], "out", 3))
    )
    row = memory.operands()[1]
    assert row.address == (6 + 2) * 4
    assert (row.region, row.argument, row.argument_offset, row.element_bytes) == (0, 3, 8, 4)
    assert row.num_axes == 2
    assert list(row.sizes[:2]) == [3, 2]
    assert list(row.strides[:2]) == [6, 1]
