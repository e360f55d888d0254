"""The requests of a contest."""

from __future__ import annotations

from bench.peers.load import VOCAB_SIZE, ragged_load, single_load


def test_32_ragged_requests_as_issue_4_words_them() -> None:
    load = ragged_load()
    assert len(load.prompts) == len(load.output_tokens) == 32
    lengths = [len(prompt) for prompt in load.prompts]
    assert 32 <= min(lengths) < 64
    assert 224 < max(lengths) <= 256
    assert 16 <= min(load.output_tokens) < 64
    assert 224 < max(load.output_tokens) <= 256
    assert all(0 <= token < VOCAB_SIZE for prompt in load.prompts for token in prompt)
    assert load.num_output_tokens == sum(load.output_tokens)
    assert ragged_load() == load


def test_a_single_stream_is_nearly_all_decoding() -> None:
    load = single_load(64)
    assert len(load.prompts) == 1
    assert len(load.prompts[0]) < 64 == load.num_output_tokens


def test_a_shortened_load_keeps_prompts_and_draws_at_least_a_token() -> None:
    load = ragged_load()
    short = load.shortened(100)
    assert short.prompts == load.prompts
    assert short.output_tokens == [max(1, length // 100) for length in load.output_tokens]
    assert min(short.output_tokens) == 1 < max(short.output_tokens)
