"""lmdeploy#1788, #548, #1619: the engine stalled after bursts of streams that clients closed."""

from __future__ import annotations

import asyncio
import time

import httpx

from tests.helpers.asked import COMPLETIONS
from tests.helpers.held import held
from tests.helpers.live_server import live_server

LONG = {"prompt": "hello", "max_tokens": 80, "ignore_eos": True}


def test_the_next_request_is_served_and_every_block_is_back() -> None:
    # Two sequences at a time, so that most requests wait.
    with live_server(max_num_seqs=2) as server:
        asyncio.run(_leave_all(server.url, 200))
        with held(server):
            asyncio.run(_leave_all(server.url, 40))
            for _ in range(200):
                if not server.service.num_open_requests:
                    break
                time.sleep(0.01)
        server.check_given_up()
        body = {"prompt": "a", "max_tokens": 2}
        answer = server.client.post(COMPLETIONS, json=body, timeout=5)
        assert answer.status_code == 200
        server.wait_until_empty(timeout_s=5)


async def _leave_all(url: str, count: int) -> None:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, limits=limits) as client:
        await asyncio.gather(*(_leave(client, place) for place in range(count)))


async def _leave(client: httpx.AsyncClient, place: int) -> None:
    """Begin a request, and leave before its answer, at its head or in its midst."""
    body = {**LONG, "seed": place, "stream": place % 3 > 0, "n": 1 + place % 2}
    try:
        patience_s = 0.05 + place % 5 / 10
        async with client.stream("POST", COMPLETIONS, json=body, timeout=patience_s) as answer:
            async for _ in answer.aiter_bytes():
                if place % 3 == 1:
                    break
    except httpx.TimeoutException:
        pass
