"""Launch requests."""

from __future__ import annotations

import numpy as np
import pytest

from paged.kernel.launch import Extent, LaunchRequest, one


@pytest.mark.parametrize(
    ("grid", "is_empty"), [((1, 1, 1), False), ((0, 1, 1), True), ((3, 2, 0), True)]
)
def test_a_grid_without_blocks_is_empty(grid: Extent, is_empty: bool) -> None:
    request = LaunchRequest(
        entry="f", grid=grid, block=(1, 1, 1), shared_bytes=0, arguments=(), pointers=()
    )
    assert request.is_empty is is_empty


def test_a_scalar_argument_has_its_types_bytes() -> None:
    assert one(2.5, "float32").tobytes() == np.float32(2.5).tobytes()
    assert one(-1, np.int64).nbytes == 8
