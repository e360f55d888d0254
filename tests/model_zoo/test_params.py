"""Trees of parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from model_zoo.init import random_params
from model_zoo.params import num_bytes, tensors
from model_zoo.tiny import CONFIG


def test_every_tensor_has_a_path() -> None:
    params = random_params(CONFIG)
    found = dict(tensors(params))
    assert found["layers.1.attention_norm"] is params.layers[1].attention_norm
    assert found["embedding.data"] is params.embedding.data
    assert found["cos_sin"] is params.cos_sin
    assert len(found) == 4 + 6 * CONFIG.num_layers


@pytest.mark.parametrize("name", [None, "qkv_bias", "o_bias", "mlp_bias", "qk_norm"])
def test_bytes_are_those_of_all_weights_and_of_the_table_of_angles(name: str | None) -> None:
    config = CONFIG if name is None else replace(CONFIG, **{name: True})
    table_bytes = 4 * CONFIG.max_model_len * CONFIG.rope.rotary_dim
    assert num_bytes(random_params(config)) == config.shape.weight_bytes + table_bytes


def test_shared_memory_counts_once() -> None:
    config = replace(CONFIG, tie_embeddings=True)
    table_bytes = 4 * CONFIG.max_model_len * CONFIG.rope.rotary_dim
    params = random_params(config)
    assert num_bytes(params) == config.shape.weight_bytes + table_bytes
    assert num_bytes((params.cos_sin[:3], params.cos_sin)) == table_bytes


def test_what_lies_beside_a_tensor_does_not_count() -> None:
    chunk = torch.zeros(1000)
    assert num_bytes((chunk[:10], chunk[100:105])) == 4 * 15
