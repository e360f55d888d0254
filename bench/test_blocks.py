"""Cost per block of taking, giving back, sharing and evicting."""

from __future__ import annotations

from functools import partial

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.blocks import OPERATIONS, BlockSide
from bench.compare import Comparison, Rival, race
from bench.peer import Peer
from bench.report import Collected
from bench.yardsticks import ListPool

NUM_BLOCKS = 4096
NUM_CALLS = 32
NUM_CHUNKS = 5
ROUNDS_PER_CHUNK = 10
# vLLM has no fork; its children find the prompt in the prefix cache and `touch` its blocks.
VLLM_CALLS = {
    "allocate": "BlockPool.get_new_blocks",
    "free": "BlockPool.free_blocks",
    "fork": "BlockPool.touch",
    "evict": "BlockPool.get_new_blocks",
    "admit": "Request.update_block_hashes + KVCacheManager.get_computed_blocks + allocate_slots",
    "release": "KVCacheManager.free",
}


@pytest.mark.parametrize("blocks_per_call", [1, 64])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_blocks(
    operation: str,
    blocks_per_call: int,
    benchmark: BenchmarkFixture,
    peer: Peer | None,
    collected: Collected,
) -> None:
    side = BlockSide(num_blocks=NUM_BLOCKS, blocks_per_call=blocks_per_call, num_calls=NUM_CALLS)
    side.verify(operation)
    yardstick = ListPool(
        num_blocks=NUM_BLOCKS, blocks_per_call=blocks_per_call, num_calls=NUM_CALLS
    )
    rivals: dict[str, Rival] = {"yardstick": partial(yardstick.time_rounds, operation)}
    if peer is not None:
        peer.ask("open_blocks", num_blocks=NUM_BLOCKS, blocks_per_call=blocks_per_call)
        rivals["vllm"] = _vllm_rounds(peer, operation)
    raced = race(
        benchmark,
        side.contestant(operation),
        rivals,
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    side.check_clean()
    if raced is not None:
        ours, rival_times = raced
        comparison = Comparison(
            unit="block",
            ours=ours,
            rivals=rival_times,
            notes={"blocks_per_call": blocks_per_call, "vllm_call": VLLM_CALLS[operation]},
        )
        collected.keep(benchmark, comparison)


def _vllm_rounds(peer: Peer, operation: str) -> Rival:
    def time_rounds(num_rounds: int) -> list[float]:
        answer = peer.ask(
            "time_blocks", operation=operation, num_calls=NUM_CALLS, num_rounds=num_rounds
        )
        return answer["round_us"]

    return time_rounds
