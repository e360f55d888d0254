"""Pools and schedulers of the experiment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.sim.setup import Setup, Trial
from paged.errors import ConfigError
from paged.hardware import GPUS
from paged.shapes import MODELS

PAPER = Setup(
    model=MODELS["opt-13b"],
    gpu=GPUS["a100-40gb"],
    kv_slots=15_728,
    max_model_len=2_048,
    max_num_seqs=64,
    max_num_batched_tokens=None,
    page_bytes=2 * 2**20,
    arrivals="saturated",
    rate_per_s=None,
)


def test_capacity_rounds_down_to_whole_blocks():
    assert PAPER.capacity_slots(Trial(allocator="paged", seed=0)) == 15_728
    assert PAPER.capacity_slots(Trial(allocator="paged", seed=0, block_size=256)) == 15_616


def test_a_page_is_floored_to_whole_blocks():
    # 2 MiB / (40 heads * 128 * 2 bytes) = 204.8 tokens
    assert PAPER.page_tokens == 204
    config = PAPER.cache_config(Trial(allocator="virtual", seed=0))
    assert (config.num_blocks, config.blocks_per_page) == (983, 12)
    llama = replace(PAPER, model=MODELS["llama-3-8b"])
    assert llama.page_tokens == 1_024


def test_a_page_smaller_than_a_block_is_refused_for_virtual_alone():
    small = replace(PAPER, page_bytes=64 * 1024)
    with pytest.raises(ConfigError, match="64 KiB holds 6 tokens of opt-13b, less than one block"):
        small.cache_config(Trial(allocator="virtual", seed=0))
    assert small.cache_config(Trial(allocator="paged", seed=0)).block_size == 16


def test_static_batches_and_the_others_do_not():
    assert PAPER.scheduler_config(Trial(allocator="static", seed=0)).batching == "static"
    assert PAPER.scheduler_config(Trial(allocator="paged", seed=0)).batching == "continuous"


def test_unknown_allocators_are_refused_with_the_names():
    with pytest.raises(ConfigError, match="unknown allocator 'slab': expected some of paged"):
        Trial(allocator="slab", seed=0)


def test_a_pool_must_hold_one_request():
    trial = Trial(allocator="reserved-oracle", seed=0)
    PAPER.require_room(trial)
    with pytest.raises(ConfigError, match="pool of 2032 slots is smaller than one request"):
        replace(PAPER, kv_slots=2_047).require_room(trial)


def test_a_pool_that_policy_cannot_use_whole_is_refused_by_the_policy():
    # pages of 192 tokens: 2048 slots are 10 pages, one request needs 11
    with pytest.raises(ConfigError, match=r"^virtual: "):
        replace(PAPER, kv_slots=2_048).require_room(Trial(allocator="virtual", seed=0))


def test_a_page_larger_than_the_pool_names_the_flag():
    large = replace(PAPER, page_bytes=2**30)
    with pytest.raises(ConfigError, match=r"more than the pool of 15728 slots; lower --page-kib"):
        large.require_room(Trial(allocator="virtual", seed=0))
    large.require_room(Trial(allocator="paged", seed=0))


def test_a_block_larger_than_the_pool_names_the_flag():
    with pytest.raises(ConfigError, match=r"block of 16384 slots .*; lower --block-size"):
        PAPER.require_room(Trial(allocator="paged", seed=0, block_size=16_384))
