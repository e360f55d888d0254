"""Counter-based random numbers: a draw depends on its key and counter, on nothing else.

Source: Philox 4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

WordArray = npt.NDArray[np.uint32]

_NUM_ROUNDS = 10
_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_KEY_STEPS = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint32)
_WORD_BITS = np.uint64(32)
_SEEDS_PER_BLOCK = 256


def philox(counter: WordArray, key: WordArray) -> WordArray:
    """Scramble counters under keys.

    Shapes: counter[4, N], key[2, N], result[4, N]; every column on its own.
    """
    words, key = counter.astype(np.uint32), key.astype(np.uint32)
    for _ in range(_NUM_ROUNDS):
        products = words[0::2] * _MULTIPLIERS
        low, high = products.astype(np.uint32), (products >> _WORD_BITS).astype(np.uint32)
        mixed = high[::-1] ^ words[1::2] ^ key
        words = np.stack([mixed[0], low[1], mixed[1], low[0]])
        key = key + _KEY_STEPS
    return words


def uniforms(
    seeds: npt.NDArray[np.int64],
    sequence_indices: npt.NDArray[np.int64],
    draw_indices: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Draw one number from [0, 1), of 53 bits, for each draw of each sequence.

    Shapes: all [N]. seeds: any int64; sequence_indices, draw_indices: 0 to 2**32 - 1.
    """
    counter = np.zeros((4, len(seeds)), np.uint32)
    counter[0], counter[1] = draw_indices, sequence_indices
    words = philox(counter, _words_of(seeds)).astype(np.uint64)
    bits = (words[0] >> np.uint64(5) << np.uint64(26)) | (words[1] >> np.uint64(6))
    return bits * 2.0**-53


def derived_seed(seed: int, number: int) -> int:
    """Make the int64 seed of request `number` from the seed of an engine.

    seed: any int64; number: 0 to 2**32 - 1.
    """
    block, place = divmod(number, _SEEDS_PER_BLOCK)
    return _derived_seeds(seed, block)[place]


@lru_cache(maxsize=16)
def _derived_seeds(seed: int, block: int) -> list[int]:
    """Make many seeds in a row, which takes as long as one."""
    counter = np.zeros((4, _SEEDS_PER_BLOCK), np.uint32)
    counter[0] = np.arange(_SEEDS_PER_BLOCK) + block * _SEEDS_PER_BLOCK
    # The third word tells these numbers from those that sequences draw with the same seed.
    counter[2] = 1
    words = philox(counter, _words_of(np.full(_SEEDS_PER_BLOCK, seed, np.int64)))
    return np.ascontiguousarray(words[:2].T).view(np.int64)[:, 0].tolist()


def _words_of(seeds: npt.NDArray[np.int64]) -> WordArray:
    bits = seeds.astype(np.int64).view(np.uint64)
    return np.stack([bits, bits >> _WORD_BITS]).astype(np.uint32)
