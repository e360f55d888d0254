"""What benchmarks set attention beside reads the blocks that it reads."""

from __future__ import annotations

from ctypes import c_int, c_int64, c_void_p

import numpy as np
import pytest

from paged.kernel.backends.host import HostConfig, load_host

BLOCK_FLOATS = 512


@pytest.mark.parametrize("num_threads", [1, 2])
def test_the_blocks_of_a_table_are_read_in_its_order(num_threads: int) -> None:
    read = load_host(HostConfig()).function(
        "paged_host_probe_blocks", c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int
    )
    generator = np.random.default_rng(5)
    pool = generator.integers(-9, 9, (11, BLOCK_FLOATS)).astype(np.float32)
    table = generator.permutation(11).astype(np.int32)[:9]
    sums = np.zeros(9, np.float32)
    read(
        *(pool.ctypes.data, table.ctypes.data, len(table), pool[0].nbytes),
        *(sums.ctypes.data, num_threads),
    )
    assert sums.tolist() == pool[table].sum(axis=1).tolist()
