"""Minutes at saturation with clients that leave, read slowly or send nonsense: nothing is lost.

`PAGED_SOAK_MINUTES=30 make soak ARGS=tests/paged/server/test_soak.py` takes half an hour, three
minutes where nothing is said.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.helpers.live_server import LiveServer, live_server

PATH = "/v1/completions"
ROUND_S = 60.0
NUM_CLIENTS = 24
MAX_GROWTH_BYTES = 16 * 2**20
PAGE_BYTES = 4096


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


async def _one(client: httpx.AsyncClient, rng: random.Random) -> int | None:
    """Send one request of any kind; return its status, None if it was left."""
    body = {
        "prompt": "x" * rng.randint(1, 60),
        "max_tokens": rng.randint(1, 40),
        "n": rng.randint(1, 3),
        "stream": rng.random() < 0.7,
        "ignore_eos": True,
    }
    kind = rng.random()
    if kind < 0.2:
        answer = await client.post(PATH, json=body, timeout=rng.random() / 5)
    elif kind < 0.3:
        wrong = {rng.choice(["n", "stop", "temperature"]): rng.choice([-1, 13.5, {}, [{}]])}
        answer = await client.post(PATH, json={**body, **wrong})
    elif kind < 0.4:
        async with client.stream("POST", PATH, json={**body, "stream": True}) as answer:
            async for _ in answer.aiter_bytes():
                await asyncio.sleep(0.05)
                if rng.random() < 0.1:
                    return None
    else:
        answer = await client.post(PATH, json=body)
    return answer.status_code


async def _load(server: LiveServer, seed: int) -> Counter[int | None]:
    rng, statuses = random.Random(seed), Counter[int | None]()
    end_s = time.monotonic() + ROUND_S
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        while time.monotonic() < end_s:
            try:
                statuses[await _one(client, rng)] += 1
            except httpx.TimeoutException:
                statuses[None] += 1
    return statuses


async def _round(server: LiveServer) -> Counter[int | None]:
    loads = await asyncio.gather(*(_load(server, seed) for seed in range(NUM_CLIENTS)))
    return sum(loads, Counter[int | None]())


@pytest.mark.soak
@pytest.mark.slow
def test_nothing_is_lost_at_saturation() -> None:
    num_minutes = int(os.environ.get("PAGED_SOAK_MINUTES", "3"))
    assert num_minutes > 1, "memory can only be seen to grow after the first minute"
    sizes: list[int] = []
    # A pool for two sequences of full length: requests preempt one another all the time.
    with live_server(num_blocks=48, max_num_seqs=16) as server:
        for _ in range(num_minutes):
            statuses = asyncio.run(_round(server))
            assert set(statuses) == {200, 400, None}, statuses
            assert statuses[200] > NUM_CLIENTS
            server.wait_until_empty(timeout_s=5)
            sizes.append(_resident_bytes())
            print(f"{sizes[-1] >> 20} MiB resident, {dict(statuses)}", flush=True)
        assert server.client.get("/health").status_code == 200
    assert sizes[-1] - sizes[1] < MAX_GROWTH_BYTES, sizes
