"""Parameters from a seed."""

from __future__ import annotations

from dataclasses import replace

import torch

from model_zoo.init import random_params
from model_zoo.params import tensors
from model_zoo.tiny import CONFIG
from paged.kernel.linear_weight import LinearWeight


def test_a_seed_always_gives_the_same_parameters() -> None:
    first, again, other = (dict(tensors(random_params(CONFIG, seed=s))) for s in (3, 3, 4))
    assert all(torch.equal(first[path], again[path]) for path in first)
    unequal = [path for path in first if not torch.equal(first[path], other[path])]
    assert set(first) - set(unequal) == {"cos_sin"}


def test_parameters_have_the_dtype_asked_for() -> None:
    config = replace(CONFIG, qkv_bias=True, qk_norm=True)
    params = random_params(config, dtype=torch.bfloat16)
    dtypes = {path: tensor.dtype for path, tensor in tensors(params)}
    assert dtypes.pop("cos_sin") == torch.float32
    assert set(dtypes.values()) == {torch.bfloat16}


def test_each_matrix_is_packed_once() -> None:
    packed: list[LinearWeight] = []

    def pack(weight: LinearWeight) -> LinearWeight:
        packed.append(LinearWeight.plain(weight.data.double()))
        return packed[-1]

    params = random_params(replace(CONFIG, tie_embeddings=True), pack=pack)
    assert params.lm_head is params.embedding is packed[0]
    assert params.layers[1].down is packed[-1]
    assert len(packed) == 1 + 4 * CONFIG.num_layers
