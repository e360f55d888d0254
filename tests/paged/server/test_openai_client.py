"""The `openai` package and curl against a server, unchanged."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from tests.helpers.live_server import LiveServer, live_server

NAME = "Qwen/Qwen2.5-7B-Instruct"
MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": "用一句话介绍你自己"}]


@pytest.fixture(scope="module")
def keyed() -> Iterator[LiveServer]:
    """Serve under another name, with a key."""
    with live_server(names=(NAME, "short"), api_keys=("secret",)) as server:
        yield server
        server.wait_until_empty()


@pytest.fixture
def sdk(keyed: LiveServer) -> Iterator[openai.OpenAI]:
    """Yield a client as its users make it."""
    with openai.OpenAI(base_url=f"{keyed.url}/v1", api_key="secret", max_retries=0) as client:
        yield client


def test_models_are_listed_and_found(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == [NAME, "short"]
    assert sdk.models.retrieve(NAME).id == NAME


def test_a_chat_in_chinese_without_a_limit_fills_the_context(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(
        model=NAME, messages=MESSAGES, extra_body={"ignore_eos": True}
    )
    assert answer.model == NAME
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.total_tokens == 96


def test_a_streamed_chat_joins_to_the_whole(sdk: openai.OpenAI) -> None:
    whole = sdk.chat.completions.create(model="short", messages=MESSAGES, seed=5, max_tokens=20)
    stream = sdk.chat.completions.create(
        model="short",
        messages=MESSAGES,
        seed=5,
        max_tokens=20,
        stream=True,
        stream_options={"include_usage": True},
    )
    *chunks, last = stream
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert last.usage is not None
    assert last.usage.completion_tokens == 20


def test_a_completion_has_log_probabilities(sdk: openai.OpenAI) -> None:
    answer = sdk.completions.create(model=NAME, prompt=["a", "b"], logprobs=2, max_tokens=3)
    assert [choice.index for choice in answer.choices] == [0, 1]
    logprobs = answer.choices[1].logprobs
    assert logprobs is not None
    assert logprobs.tokens is not None
    assert len(logprobs.tokens) == 3


def test_errors_are_those_of_the_package(keyed: LiveServer, sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="The model `gpt-4` does not exist"):
        sdk.chat.completions.create(model="gpt-4", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError, match="temperature: expected a number") as caught:
        sdk.completions.create(model=NAME, prompt="a", temperature=3.0)
    assert caught.value.param == "temperature"
    other = openai.OpenAI(base_url=f"{keyed.url}/v1", api_key="wrong", max_retries=0)
    with other, pytest.raises(openai.AuthenticationError, match="expected the header"):
        other.models.list()


def test_many_asynchronous_streams_run_at_once(keyed: LiveServer) -> None:
    async def stream(client: openai.AsyncOpenAI, seed: int) -> str:
        chunks = await client.completions.create(
            model=NAME, prompt="hello", max_tokens=12, seed=seed, stream=True
        )
        return "".join([chunk.choices[0].text async for chunk in chunks])

    async def all_of_them() -> list[str]:
        client = openai.AsyncOpenAI(base_url=f"{keyed.url}/v1", api_key="secret", max_retries=0)
        async with client:
            return await asyncio.gather(*(stream(client, seed % 4) for seed in range(16)))

    texts = asyncio.run(all_of_them())
    assert texts == texts[:4] * 4
    assert len(set(texts)) == 4


def test_curl_needs_nothing_but_the_readmes_line(keyed: LiveServer) -> None:
    ran = subprocess.run(
        [
            *("curl", "-sSN", f"{keyed.url}/v1/completions"),
            *("-H", "Content-Type: application/json", "-H", "Authorization: Bearer secret"),
            *("-d", '{"prompt": "Once upon a time", "max_tokens": 3, "stream": true}'),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    *events, done, rest = ran.stdout.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    texts = [json.loads(event.removeprefix("data: "))["choices"][0]["text"] for event in events]
    assert len(texts) <= 3
    assert "".join(texts)
