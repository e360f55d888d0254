"""Loads of ragged requests."""

from __future__ import annotations

import numpy as np

from experiments.live.ragged import OUTPUT_TOKENS, PROMPT_TOKENS, draw_ragged


def test_lengths_fill_their_ranges_and_ids_the_vocabulary() -> None:
    load = draw_ragged(0, 2_000, vocab_size=7)
    lengths = np.array([len(prompt) for prompt in load.prompts])
    assert (lengths.min(), lengths.max()) == PROMPT_TOKENS
    assert (load.output_tokens.min(), load.output_tokens.max()) == OUTPUT_TOKENS
    assert set(np.unique(np.concatenate(load.prompts)).tolist()) == set(range(7))
    assert load.num_output_tokens == int(load.output_tokens.sum())


def test_equal_seeds_give_equal_loads_and_a_shorter_one_is_the_start_of_a_longer() -> None:
    load, longer = (draw_ragged(3, num, vocab_size=100) for num in (5, 9))
    assert load.output_tokens.tolist() == longer.output_tokens[:5].tolist()
    for prompt, same in zip(load.prompts, longer.prompts[:5], strict=True):
        assert prompt.tolist() == same.tolist()
    other = draw_ragged(4, 5, vocab_size=100)
    assert other.output_tokens.tolist() != load.output_tokens.tolist()


def test_requests_draw_exactly_what_the_load_says() -> None:
    load = draw_ragged(0, 3, vocab_size=9)
    requests = load.requests()
    assert [each.max_new_tokens for each in requests] == load.output_tokens.tolist()
    assert [each.num_prompt_tokens for each in requests] == [len(each) for each in load.prompts]
