"""Shapes and sizes of the memory for keys and values."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from model_zoo.tiny import CONFIG
from paged.config import CacheConfig
from paged.engine.kv_pool import block_bytes, make_pools, per_group


def _pools(config=CONFIG, dtype=torch.float32):
    return make_pools(
        config,
        CacheConfig(num_blocks=5, num_host_blocks=3, block_size=4),
        dtype=dtype,
        device=torch.device("cpu"),
    )


def test_a_plain_model_has_one_pool_on_each_side() -> None:
    pools = _pools()
    assert [tuple(pool.shape) for pool in pools.device] == [(5, 2, 2, 2, 4, 16)]
    assert [tuple(pool.shape) for pool in pools.host] == [(3, 2, 2, 2, 4, 16)]


def test_each_kv_group_has_a_pool_with_its_layers() -> None:
    config = replace(CONFIG, num_layers=3, windows=(None, 8, 8))
    pools = _pools(config)
    assert [pool.shape[1] for pool in pools.device] == [1, 2]
    assert [pool.shape[1] for pool in pools.host] == [1, 2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn])
def test_the_bytes_of_a_block_are_those_of_its_pools(dtype: torch.dtype) -> None:
    config = replace(CONFIG, num_layers=3, windows=(None, 8, 8))
    assert _pools(config, dtype).num_bytes == 5 * block_bytes(config, block_size=4, dtype=dtype)


def test_each_group_has_its_own_table_or_all_share_one() -> None:
    assert per_group(["a", "b", "c"], 3) == ("a", "b", "c")
    assert per_group(["a"], 3) == ("a", "a", "a")
