"""Texts to token ids and back."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.helpers.live_server import CHAT


def test_a_text_is_split_and_joined_again(client: httpx.Client) -> None:
    answer = client.post("/tokenize", json={"prompt": "hé", "return_token_strs": True}).json()
    assert answer == {
        "count": 4,
        "max_model_len": 96,
        "tokens": [256, 104, 0xC3, 0xA9],
        "token_strs": ["", "h", "bytes:\\xc3", "bytes:\\xa9"],
    }
    joined = client.post("/detokenize", json={"tokens": answer["tokens"]}).json()
    assert joined == {"prompt": "<s>hé"}
    bare = client.post("/tokenize", json={"prompt": "a", "add_special_tokens": False}).json()
    assert (bare["tokens"], bare["token_strs"]) == ([97], None)


def test_messages_go_through_the_template(client: httpx.Client) -> None:
    answer = client.post("/tokenize", json={"messages": CHAT}).json()
    assert bytes(answer["tokens"]).decode() == "user: hi\nassistant: "
    answer = client.post("/tokenize", json={"messages": CHAT, "add_generation_prompt": False})
    assert bytes(answer.json()["tokens"]).decode() == "user: hi\n"


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/tokenize", {}, "prompt"),
        ("/tokenize", {"prompt": "a", "messages": CHAT}, "prompt"),
        ("/tokenize", {"prompt": 5}, "prompt"),
        ("/tokenize", {"messages": []}, "messages"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": "a"}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens"),
        ("/detokenize", {"tokens": [10**6]}, "tokens"),
        ("/detokenize", {"tokens": [True]}, "tokens"),
    ],
)
def test_others_are_refused_by_name(
    client: httpx.Client, path: str, body: dict[str, Any], param: str
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_another_model_is_not_found(client: httpx.Client) -> None:
    for path, body in (("/tokenize", {"prompt": "a"}), ("/detokenize", {"tokens": [97]})):
        assert client.post(path, json={**body, "model": "x"}).status_code == 404
