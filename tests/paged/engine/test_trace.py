"""A trace puts every value of a step down to its token, its layer and its operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paged.engine.lockstep import Run
from paged.engine.trace import DRAW, Site, Token, TokenValues
from paged.errors import RequestFailed
from paged.sampling_params import SamplingParams
from tests.helpers.planted import tiny_config
from tests.helpers.tiny_llm import tiny_model

LAYER = (
    *("linear qkv", "rope_write_kv: out", "rope_write_kv: keys and values"),
    *("attention: out", "attention: lse", "linear o"),
    *("add_rms_norm mlp_norm: normed", "add_rms_norm mlp_norm: sum"),
    *("linear gate_up", "silu_mul", "linear down"),
)
NORM = ("add_rms_norm {}: normed", "add_rms_norm {}: sum")
SITES = [
    "embedding",
    *(f"layer 0 {each}" for each in ("rms_norm attention_norm", *LAYER)),
    *(f"layer 1 {each.format('attention_norm')}" for each in NORM),
    *(f"layer 1 {each}" for each in LAYER),
    *(each.format("final_norm") for each in NORM),
    "linear lm_head",
    "draw",
]
FIRST_OF_THE_DRAWN = SITES.index("layer 1 linear o")
PROMPT = list(range(10, 21))


def computed(*, max_tokens: int = 3, **options: Any) -> list[dict[Token, TokenValues]]:
    """Return what each step of a request computed."""
    run = Run("A", tiny_config(**options), tiny_model())
    run.add(PROMPT, SamplingParams(max_tokens=max_tokens, temperature=0.0, ignore_eos=True))
    steps: list[dict[Token, TokenValues]] = []
    while run.has_work:
        steps.append(run.step())
    return steps


def test_every_operation_of_the_model_is_a_site_in_its_order() -> None:
    prompt, *decodes = computed()
    last = prompt["0", len(PROMPT) - 1]
    for values in (last, *(step["0", len(PROMPT) + i] for i, step in enumerate(decodes))):
        assert [str(each.site) for each in values.seen] == SITES
        assert len(values.values) == len(SITES)


def test_what_nothing_is_drawn_from_ends_after_the_last_attention() -> None:
    prompt = computed()[0]
    assert list(prompt) == [("0", position) for position in range(len(PROMPT))]
    for position in range(len(PROMPT) - 1):
        assert len(prompt["0", position].values) == FIRST_OF_THE_DRAWN


@pytest.mark.parametrize("options", [{"max_num_batched_tokens": 4}, {"block_size": 5}], ids=str)
def test_a_token_has_its_own_values_whatever_it_is_computed_with(options: dict[str, Any]) -> None:
    whole = {token: values for step in computed() for token, values in step.items()}
    other = {token: values for step in computed(**options) for token, values in step.items()}
    assert whole.keys() == other.keys()
    for token, values in whole.items():
        pairs = zip(values.values, other[token].values, strict=True)
        assert all(np.array_equal(*pair) for pair in pairs), token
    rows = [values.values[0].tobytes() for values in whole.values()]
    assert len(set(rows)) == len({*PROMPT, *_drawn(whole)[:-1]})


def _drawn(values: dict[Token, TokenValues]) -> list[int]:
    return [int(each.values[-1][0]) for each in values.values() if len(each.values) == len(SITES)]


def test_draws_are_the_tokens_of_the_output() -> None:
    run = Run("A", tiny_config(), tiny_model())
    run.add(PROMPT, SamplingParams(max_tokens=5, temperature=1.0, seed=3, ignore_eos=True))
    values: dict[Token, TokenValues] = {}
    while run.has_work:
        values |= run.step()
    assert run.finished["0"].tokens[len(PROMPT) :].tolist() == _drawn(values)
    assert values["0", len(PROMPT)].site(-1) == DRAW


def test_a_token_is_in_the_slot_that_its_table_says() -> None:
    steps = computed(block_size=4)
    slots = [each.slot(FIRST_OF_THE_DRAWN - 1) for step in steps for each in step.values()]
    assert all(slot is not None for slot in slots)
    assert [(slot or 0) % 4 for slot in slots] == [i % 4 for i in range(len(slots))]
    assert steps[0]["0", 0].slot(SITES.index("layer 0 linear qkv")) is None


def test_keys_and_values_are_those_of_the_pool() -> None:
    values = computed()[0]["0", 3]
    query = values.values[SITES.index("layer 1 linear qkv")]
    stored = values.values[SITES.index("layer 1 rope_write_kv: keys and values")]
    # 4 query heads and 2 key heads of 16 come first; values are not turned
    assert np.array_equal(stored[32:], query[96:])
    assert not np.array_equal(stored[:32], query[64:96])


def test_requests_of_several_sequences_are_refused() -> None:
    run = Run("A", tiny_config(), tiny_model())
    run.add(PROMPT, SamplingParams(n=2, max_tokens=3))
    with pytest.raises(RequestFailed, match="a request with several sequences"):
        run.step()


def test_a_site_is_named_by_what_is_known_of_it() -> None:
    assert str(Site(op="silu_mul")) == "silu_mul"
    assert str(Site(op="linear", weight="o", layer=3)) == "layer 3 linear o"
