"""`/v1/blocks` over a real socket: the map of a moment, and 503 without an engine."""

from __future__ import annotations

import httpx

from tests.helpers.live_server import LiveServer


def test_blocks_of_a_running_request_are_listed_and_freed(
    server: LiveServer, client: httpx.Client
) -> None:
    body = {"prompt": "hello", "max_tokens": 60, "n": 2, "stream": True, "ignore_eos": True}
    with client.stream("POST", "/v1/completions", json=body) as stream:
        pieces = stream.iter_raw()  # which ends the stream when nobody holds it
        next(pieces)
        found = client.get("/v1/blocks").json()
    (request,) = found["requests"]
    assert (found["object"], found["model"], found["num_blocks"]) == ("block_map", "tiny", 64)
    assert (request["status"], request["num_prompt_tokens"]) == ("running", 6)
    tables = [each["tables"][0]["blocks"] for each in request["sequences"]]
    references = found["pools"][0]["references"]
    for block in set(tables[0]) | set(tables[1]):
        assert references[block] == (block in tables[0]) + (block in tables[1])
    assert sum(found["counts"].values()) == 64
    server.wait_until_empty()
    counts = client.get("/v1/blocks").json()["counts"]
    assert (counts["held"], counts["shared"]) == (0, 0)


def test_kernels_and_shadows_are_named(client: httpx.Client) -> None:
    found = client.get("/v1/blocks").json()
    assert "attention" in found["kernels"]
    names = [shadow["allocator"] for shadow in found["shadows"]]
    assert names == ["reserved-max", "reserved-pow2", "virtual"]
