"""The line of a server that is ready."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from paged.server.banner import banner
from tests.helpers.live_server import tiny_service


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (
            {"num_blocks": 64, "max_num_seqs": 8},
            "64 blocks, 256 tokens of KV, 2.7 sequences of 96 tokens at once (at most 8)",
        ),
        (
            {"num_blocks": 640, "max_num_seqs": 3, "kernels": {"attention": "reference"}},
            "640 blocks, 2560 tokens of KV, 3.0 sequences of 96 tokens at once (at most 3)",
        ),
    ],
)
def test_it_says_where_what_and_how_much(options: dict[str, Any], wanted: str) -> None:
    async def run() -> str:
        service = tiny_service(**options)
        await service.start()
        try:
            return await banner(service, address="http://host:1", name="the-model")
        finally:
            await service.stop()

    line = asyncio.run(run())
    assert line.startswith(f"paged serves the-model at http://host:1: {wanted}, kernels ")
    assert ("attention=reference" in line) == ("kernels" in options)
    assert "\n" not in line
