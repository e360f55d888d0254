"""What a host kernel is handed: the struct of its operation, element types, threads."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from paged.errors import OperandError
from paged.kernel.backends import host_library
from paged.kernel.backends.host import Host
from paged.kernel.backends.host_level import cpu_levels
from paged.kernel.backends.host_library import load_host_library
from paged.kernel.backends.host_ops import run_host_op
from paged.kernel.backends.host_records import ELEMENT_CODES
from paged.kernel.plans import Given
from paged.kernel.registry import find_op

# Writes what it was handed over the first elements of the pool.
KERNEL = """
#include "host_records.h"
extern "C" __attribute__((visibility("default"))) void paged_host_copy_blocks(
    const CopyBlocksParams* args, const paged_host::Element* types, int num_threads) {
    float* pool = static_cast<float*>(args->kv_pool);
    pool[0] = static_cast<float>(args->num_pairs);
    pool[1] = static_cast<float>(args->pairs[1]);
    pool[2] = static_cast<float>(types[0]);
    pool[3] = static_cast<float>(num_threads);
    pool[4] = static_cast<float>(args->kv_pool_stride[0]);
}
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """Compile a host library of the kernel above alone."""
    (tmp_path / "copy_blocks.cpp").write_text(KERNEL)
    monkeypatch.setattr(host_library, "HOST_DIR", tmp_path)
    load_host_library.cache_clear()
    level = cpu_levels()[0]
    library = load_host_library(level)
    load_host_library.cache_clear()
    return Host(library=library, level=level, num_threads=3)


def test_a_kernel_gets_the_struct_the_types_and_the_threads(host: Host) -> None:
    for num_blocks in (4, 4, 5):  # the second call has a plan
        pool = torch.zeros(num_blocks, 1, 2, 1, 2, 8)
        pairs = torch.tensor([[0, 3], [1, 2]])
        given = Given.of((pool, pairs), {})
        assert run_host_op(find_op("copy_blocks"), given, host) is None
        expected = [2.0, 3.0, ELEMENT_CODES["float32"], 3.0, 32.0]
        assert pool.flatten()[:5].tolist() == expected


def test_operands_are_checked_first(host: Host) -> None:
    pool = torch.zeros(4, 1, 2, 1, 2, 8)
    with pytest.raises(OperandError, match="operand 'pairs' must be int64, got int32"):
        run_host_op(find_op("copy_blocks"), Given.of((pool, torch.ones(1, 2).int()), {}), host)
    assert not pool.any()


def test_pools_in_read_only_memory_are_refused(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "pool"
    np.zeros(4 * 32, dtype=np.float32).tofile(file)
    pairs = torch.tensor([[0, 3]])
    run_host_op(find_op("copy_blocks"), Given.of((torch.zeros(4, 1, 2, 1, 2, 8), pairs), {}), host)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of tensors that cannot be written
        pool = torch.from_numpy(np.memmap(file, np.float32, "r")).view(4, 1, 2, 1, 2, 8)
    with pytest.raises(OperandError, match="'kv_pool' is written, and lies in read-only memory"):
        run_host_op(find_op("copy_blocks"), Given.of((pool, pairs), {}), host)
