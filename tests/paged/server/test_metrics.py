"""Metrics as Prometheus reads them: names, values, and text that a parser takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paged.server.metrics import render_metrics
from paged.server.watch import Watch
from tests.helpers.toy_engine import ToyEngine, make_toy_engine

# vLLM's names that dashboards and load balancers read.
VLLM = (
    *("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "cache_config_info"),
    *("prefix_cache_queries", "prefix_cache_hits", "prompt_tokens", "generation_tokens"),
    *("num_preemptions", "request_success", "iteration_tokens_total"),
    *("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"),
    *("request_queue_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds"),
    *("request_inference_time_seconds", "request_prompt_tokens", "request_generation_tokens"),
)
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def toy() -> ToyEngine:
    toy = make_toy_engine(num_blocks=16, max_model_len=32, max_num_seqs=2)
    toy.engine.observers = (*toy.engine.observers, Watch(kernels={"a": "b"}, token_bytes=1 << 17))
    return toy


def _render(toy: ToyEngine) -> bytes:
    watch = toy.engine.observers[-1]
    assert isinstance(watch, Watch)
    return render_metrics(watch.report(toy.engine), model_name='m"x\n')


def _samples(toy: ToyEngine) -> Samples:
    families = text_string_to_metric_families(_render(toy).decode())
    samples = [sample for family in families for sample in family.samples]
    assert all(sample.labels.pop("model_name") == 'm"x\n' for sample in samples)
    return {(each.name, frozenset(each.labels.items())): each.value for each in samples}


def _value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_every_metric_that_tools_for_vllm_read_is_there(toy: ToyEngine) -> None:
    families = {each.name for each in text_string_to_metric_families(_render(toy).decode())}
    assert {f"vllm:{name}" for name in VLLM} <= families


def test_values_are_those_of_the_moment(toy: ToyEngine) -> None:
    for name in "abc":
        toy.add(name, [ord(name)] * 5, num_new=6)
    toy.step()
    toy.step()
    samples = _samples(toy)
    assert _value(samples, "vllm:num_requests_running") == 2
    assert _value(samples, "vllm:num_requests_waiting") == 1
    assert _value(samples, "vllm:kv_cache_usage_perc") == 4 / 16
    assert _value(samples, "vllm:generation_tokens_total") == 4
    assert _value(samples, "vllm:inter_token_latency_seconds_count") == 2
    assert _value(samples, "vllm:inter_token_latency_seconds_bucket", le="0.5") == 0
    assert _value(samples, "vllm:inter_token_latency_seconds_bucket", le="1.0") == 2
    assert _value(samples, "vllm:inter_token_latency_seconds_bucket", le="+Inf") == 2
    assert _value(samples, "paged:blocks", state="free") == 12
    # Twelve tokens are stored by two steps, in four blocks of four slots.
    assert _value(samples, "paged:slots", **{"class": "granted_unused"}) == 16 - 12
    assert _value(samples, "paged:slot_seconds", **{"class": "token"}) == 10 + 12
    assert _value(samples, "paged:kernel_info", op="a", variant="b") == 1
    shadow = {"allocator": "reserved-max"}
    assert _value(samples, "paged:shadow_requests", **shadow, state="held") == 2
    unused = _value(samples, "paged:shadow_slots", **shadow, **{"class": "granted_unused"})
    assert unused == 64 - 12
    toy.run()
    samples = _samples(toy)
    assert _value(samples, "vllm:request_success_total", finished_reason="length") == 3
    assert _value(samples, "vllm:request_prompt_tokens_sum") == 15


def test_buckets_add_up(toy: ToyEngine) -> None:
    for name in "abcd":
        toy.add(name, [ord(name)] * 5, num_new=3)
    toy.run()
    for family in text_string_to_metric_families(_render(toy).decode()):
        counts = [each.value for each in family.samples if each.name.endswith("_bucket")]
        if family.type == "histogram":
            assert counts == sorted(counts)
            (total,) = (each.value for each in family.samples if each.name.endswith("_count"))
            assert counts[-1] == total


def test_the_page_about_metrics_names_all_and_no_other(toy: ToyEngine, repository: Path) -> None:
    toy.add("a", [1] * 5)
    toy.run()
    families = text_string_to_metric_families(_render(toy).decode())
    exported = {f"{each.name}_total" if each.type == "counter" else each.name for each in families}
    text = (repository / "docs" / "watching.md").read_text()
    assert set(re.findall(r"`((?:vllm|paged):\w+)`", text)) == exported
