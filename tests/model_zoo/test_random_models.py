"""Models of random sizes, of every family, beside transformers'."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from model_zoo.registry import FAMILIES
from tests.helpers.hf_model import HfModel, check_logits

_SCALINGS: list[dict[str, Any]] = [
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 2.5},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
]


@st.composite
def models(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a family and the fields of a small model of it."""
    family = draw(st.sampled_from(sorted(FAMILIES)))
    num_kv_heads, group_size = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2, 3]))
    num_heads = num_kv_heads * group_size
    num_layers = draw(st.integers(1, 3))
    fields: dict[str, Any] = {
        "num_hidden_layers": num_layers,
        "num_attention_heads": num_heads,
        "num_key_value_heads": num_kv_heads,
        "hidden_size": num_heads * draw(st.sampled_from([8, 10, 24])),
        "intermediate_size": draw(st.integers(1, 70)),
        "vocab_size": draw(st.integers(3, 100)),
        "tie_word_embeddings": draw(st.booleans()),
        "rope_parameters": {"rope_theta": 500.0, **draw(st.sampled_from(_SCALINGS))},
    }
    if draw(st.booleans()) or family == "qwen3":
        fields["head_dim"] = draw(st.sampled_from([8, 16, 20]))
    window = draw(st.none() | st.integers(1, 12))
    if family == "mistral":
        fields["sliding_window"] = window
    elif family != "llama" and window is not None:
        fields |= {"use_sliding_window": True, "sliding_window": window}
        fields["max_window_layers"] = draw(st.integers(0, num_layers))
    if family in {"llama", "qwen3"}:
        fields["attention_bias"] = draw(st.booleans())
    return family, fields


@settings(max_examples=20)
@given(models(), st.integers(1, 9))
def test_random_models_give_the_logits_of_transformers(
    model: tuple[str, dict[str, Any]], chunk: int
) -> None:
    family, fields = model
    hf = HfModel(family, **fields)
    check_logits(hf, hf.config(), chunk=chunk)
