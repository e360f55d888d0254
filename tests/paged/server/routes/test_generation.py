"""What the endpoints that generate have in common."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from paged.allocator.registry import ALLOCATORS
from paged.sampling_params import SamplingParams
from tests.helpers.live_server import CHAT, live_server
from tests.helpers.tiny_llm import tiny_llm

BODIES = {
    "/v1/completions": {"prompt": "a", "max_tokens": 2},
    "/v1/chat/completions": {"messages": CHAT, "max_tokens": 2},
}


@pytest.mark.parametrize("path", list(BODIES))
def test_the_model_may_be_left_out_but_not_be_another(client: httpx.Client, path: str) -> None:
    for name in ({}, {"model": None}, {"model": "tiny"}):
        assert client.post(path, json={**BODIES[path], **name}).status_code == 200
    for name in ("", "Tiny", "tiny ", "gpt-4"):
        answer = client.post(path, json={**BODIES[path], "model": name})
        assert answer.status_code == 404
        error = answer.json()["error"]
        assert (error["type"], error["param"]) == ("NotFoundError", "model")
        assert error["message"] == f"The model `{name}` does not exist."


@pytest.mark.parametrize("path", list(BODIES))
def test_a_refusal_comes_before_a_stream_begins(client: httpx.Client, path: str) -> None:
    answer = client.post(path, json={**BODIES[path], "stream": True, "n": 1000})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_every_allocator_serves_many_at_once_as_the_library_does(allocator: str) -> None:
    prompts = [letter * 5 for letter in "abcdefghijkl"]
    greedy = {"temperature": 0.0, "max_tokens": 9, "ignore_eos": True}
    wanted = tiny_llm().generate(prompts, SamplingParams(**greedy))
    # Room for three reservations of the longest, so that some wait.
    with live_server(allocator=allocator, num_blocks=3 * 32) as server:

        def answer(prompt: str) -> str:
            body = {"model": "tiny", "prompt": prompt, **greedy}
            response = server.client.post("/v1/completions", json=body)
            assert response.status_code == 200, response.text
            return response.json()["choices"][0]["text"]

        with ThreadPoolExecutor(len(prompts)) as pool:
            texts = list(pool.map(answer, prompts))
        server.wait_until_empty()
    assert texts == [each.outputs[0].text for each in wanted]
