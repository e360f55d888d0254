"""The trace formats that load_trace tells apart by their field names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from experiments.workload.values import (
    parse_date,
    parse_milliseconds,
    parse_nanoseconds,
    parse_seconds,
)

_PROMPT_COLUMNS = (
    "num_prefill_tokens",
    "prefill",
    "prefill_tokens",
    "prompt_tokens",
    "input_tokens",
)
_OUTPUT_COLUMNS = ("num_decode_tokens", "decode", "decode_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFormat:
    """Where a format keeps each value. The first alias that a file has is used.

    arrival: aliases of the arrival time; a file without any has no timestamps.
    total: field that holds prompt + output, checked where a file has it.
    marks: further fields a file must have to be of this format.
    prompt_ids: field of the prompt's block ids, of hash_block_size tokens each.
    output_ids: field of the ids of the full blocks after those of the prompt.
    """

    name: str
    prompt: tuple[str, ...]
    output: tuple[str, ...]
    arrival: tuple[str, ...]
    parse_arrival: Callable[[object], float] = parse_seconds
    total: str | None = None
    marks: tuple[str, ...] = ()
    prompt_ids: str | None = None
    output_ids: str | None = None
    hash_block_size: int | None = None

    def matches(self, fields: Mapping[str, object]) -> bool:
        """Tell whether a row with these fields can be of this format."""
        has_lengths = bool(find_field(self.prompt, fields) and find_field(self.output, fields))
        ids = [name for name in (self.prompt_ids, self.output_ids) if name is not None]
        return has_lengths and all(name in fields for name in (*self.marks, *ids))


def find_field(aliases: tuple[str, ...], fields: Mapping[str, object]) -> str | None:
    """Return the first of the aliases that names a field, or None."""
    return next((alias for alias in aliases if alias in fields), None)


# Order matters where one format's fields include another's.
FORMATS = (
    TraceFormat(
        name="Azure CSV",
        prompt=("ContextTokens",),
        output=("GeneratedTokens",),
        arrival=("TIMESTAMP",),
        parse_arrival=parse_date,
        marks=("TIMESTAMP",),
    ),
    TraceFormat(
        # Source: alibaba-edu/qwen-bailian-usagetraces-anon, README.md.
        name="Bailian JSONL",
        prompt=("input_length",),
        output=("output_length",),
        arrival=("timestamp",),
        marks=("timestamp", "chat_id"),
        prompt_ids="hash_ids",
        hash_block_size=16,
    ),
    TraceFormat(
        # Source: kvcache-ai/Mooncake, FAST25-release/traces.
        name="Mooncake JSONL",
        prompt=("input_length",),
        output=("output_length",),
        arrival=("timestamp",),
        parse_arrival=parse_milliseconds,
        marks=("timestamp",),
        prompt_ids="hash_ids",
        hash_block_size=512,
    ),
    TraceFormat(
        name="block-16 JSONL",
        prompt=("input_length",),
        output=("output_length",),
        arrival=("timestamp_ns",),
        parse_arrival=parse_nanoseconds,
        marks=("timestamp_ns",),
        prompt_ids="hash_ids",
        output_ids="output_hash_ids",
        hash_block_size=16,
    ),
    TraceFormat(
        name="vLLM requests JSONL",
        prompt=("input_toks",),
        output=("output_toks",),
        arrival=("arrival_time",),
        marks=("arrival_time",),
    ),
    TraceFormat(
        name="prefill,decode",
        prompt=_PROMPT_COLUMNS,
        output=_OUTPUT_COLUMNS,
        arrival=("arrival_s", "arrived_at"),
        total="num_total_tokens",
    ),
)
"""Every format, most particular first."""
