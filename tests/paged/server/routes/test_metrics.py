"""`/metrics` over a real socket."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families


def _value(client: httpx.Client, name: str) -> float:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(response.text)
    samples = [each for family in families for each in family.samples if each.name == name]
    (sample,) = samples
    assert sample.labels == {"model_name": "tiny"}
    return sample.value


def test_tokens_of_an_answer_are_counted(client: httpx.Client) -> None:
    before = _value(client, "vllm:generation_tokens_total")
    body = {"prompt": "hello", "max_tokens": 7, "ignore_eos": True}
    assert client.post("/v1/completions", json=body).status_code == 200
    assert _value(client, "vllm:generation_tokens_total") == before + 7
    assert _value(client, "vllm:num_requests_running") == 0
