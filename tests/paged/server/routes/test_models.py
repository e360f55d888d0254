"""The list of models."""

from __future__ import annotations

import httpx


def test_the_model_is_listed_and_found_by_name(client: httpx.Client) -> None:
    listed = client.get("/v1/models").json()
    assert listed["object"] == "list"
    (card,) = listed["data"]
    assert (card["id"], card["object"], card["owned_by"]) == ("tiny", "model", "paged")
    assert (card["root"], card["parent"], card["max_model_len"]) == ("tiny", None, 96)
    assert isinstance(card["created"], int)
    assert client.get("/v1/models/tiny").json() == card


def test_another_is_not_found(client: httpx.Client) -> None:
    for name in ("gpt-4", "Qwen/Qwen2.5-7B", "..%2F..%2Fetc%2Fpasswd"):
        answer = client.get(f"/v1/models/{name}")
        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "NotFoundError"
