"""Telling formats apart by their fields."""

from __future__ import annotations

import pytest

from experiments.workload.formats import FORMATS, find_field


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ("TIMESTAMP,ContextTokens,GeneratedTokens", "Azure CSV"),
        ("timestamp,input_length,output_length,hash_ids", "Mooncake JSONL"),
        (
            "chat_id,parent_chat_id,timestamp,input_length,output_length,type,turn,hash_ids",
            "Bailian JSONL",
        ),
        ("timestamp_ns,input_length,output_length,hash_ids,output_hash_ids", "block-16 JSONL"),
        ("request_id,input_toks,output_toks,arrival_time,queued_ts", "vLLM requests JSONL"),
        ("num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio", "prefill,decode"),
        ("prefill,decode", "prefill,decode"),
        ("arrival_s,client,prompt_tokens,output_tokens", "prefill,decode"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens", "prefill,decode"),
        ("ContextTokens,GeneratedTokens", None),
        ("prefill", None),
        ("t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct", None),
    ],
)
def test_first_match_is_the_format(fields: str, name: str | None) -> None:
    row = dict.fromkeys(fields.split(","))
    assert next((known.name for known in FORMATS if known.matches(row)), None) == name


def test_first_alias_present_is_used() -> None:
    assert find_field(("a", "b"), {"b": 1, "a": 2}) == "a"
    assert find_field(("a", "b"), {"b": 1}) == "b"
    assert find_field(("a", "b"), {}) is None
