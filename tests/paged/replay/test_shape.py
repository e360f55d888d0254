"""The shape of a replay is the recorded model's, as far as it is not replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.errors import KernelSourceError, RecordingError
from paged.recording.header import Header, RecordedModel
from paged.replay.shape import ReplayShape, ShapeOptions, shape_of

MODEL = RecordedModel(name="m", num_heads=6, num_kv_heads=2, head_dim=80, windows=(None, 9))
HEADER = Header(
    allocator="paged",
    block_size=16,
    num_blocks=9,
    num_groups=2,
    max_rows=3,
    max_row_tokens=32,
    model=MODEL,
)


def test_it_is_the_model_s() -> None:
    shape = ReplayShape(num_kv_heads=2, group_size=3, head_dim=80, num_layers=32)
    assert shape_of(HEADER, ShapeOptions()) == shape
    assert shape_of(HEADER, ShapeOptions(group=1)) == replace(shape, window=9, group=1)
    one_table = replace(HEADER, num_groups=1)
    assert shape_of(one_table, ShapeOptions(group=1)) == replace(shape, window=9)


def test_options_replace_it() -> None:
    options = ShapeOptions(
        num_kv_heads=1, group_size=4, head_dim=64, num_layers=5, q_t="float16", kv_t="float16"
    )
    shape = shape_of(HEADER, options)
    assert shape == ReplayShape(
        num_kv_heads=1, group_size=4, head_dim=64, num_layers=5, q_t="float16", kv_t="float16"
    )
    assert shape.pool_sizes(7, 16) == (7, 1, 2, 1, 16, 64)
    assert shape.block_text == "5 layers of 1 heads of 64, float16"
    assert shape.text == "4 heads over 1 of keys, of 64, float16 on float16"


def test_an_unknown_model_is_one_of_8b() -> None:
    shape = shape_of(replace(HEADER, model=None), ShapeOptions())
    assert shape == ReplayShape(num_kv_heads=8, group_size=4, head_dim=128, num_layers=32)


@pytest.mark.parametrize("group", [-1, 2])
def test_a_group_that_was_not_recorded_is_refused(group: int) -> None:
    with pytest.raises(RecordingError, match=f"a KV group from 0 to 1, got {group}"):
        shape_of(HEADER, ShapeOptions(group=group))


def test_what_is_no_size_or_type_is_refused() -> None:
    with pytest.raises(RecordingError, match="head_dim must be from 1 to 4,096, got -2"):
        shape_of(HEADER, ShapeOptions(head_dim=-2))
    with pytest.raises(RecordingError, match="group_size must be from 1 to 4,096, got 4,097"):
        shape_of(HEADER, ShapeOptions(group_size=4097))
    with pytest.raises(KernelSourceError, match="float7"):
        shape_of(HEADER, ShapeOptions(kv_t="float7"))
