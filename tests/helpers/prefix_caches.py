"""A small prefix cache, and what is put into it and looked up."""

from __future__ import annotations

import numpy as np

from paged.allocator.prefix_cache import ROOT_SERIAL, PrefixCache

NUM_BLOCKS = 12
SIZE = 2


def small_cache() -> PrefixCache:
    return PrefixCache(num_blocks=NUM_BLOCKS, block_size=SIZE, max_blocks_per_row=6)


def tokens_of(*tokens: int) -> np.ndarray:
    return np.array(tokens, np.int32)


def blocks_of(*blocks: int) -> np.ndarray:
    return np.array(blocks, np.int64)


def insert(cache: PrefixCache, tokens: np.ndarray, blocks: list[int]) -> bool:
    keys = cache.keys_of(tokens)
    inside = range(cache.next_serial, cache.next_serial + len(blocks) - 1)
    parents = blocks_of(ROOT_SERIAL, *inside)
    return cache.insert_new(keys, blocks_of(*blocks), cache.split(tokens), parents)


def match(cache: PrefixCache, *tokens: int) -> list[int]:
    return cache.match(tokens_of(*tokens), cache.keys_of(tokens_of(*tokens))).tolist()
