"""Which leaf takes which rows."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import StringIO

import pytest
import torch

from model_zoo import weights
from model_zoo.config import ModelConfig
from model_zoo.families.llama import NAMES
from model_zoo.params import ModelParams
from model_zoo.registry import FAMILIES
from model_zoo.tiny import CONFIG
from model_zoo.weights import (
    LeafShape,
    WeightTarget,
    build_params,
    is_ignored,
    leaf_shapes,
    weight_map,
    weight_targets,
)
from paged.kernel.linear_weight import LinearWeight
from tests.helpers.hf_model import HfModel


def test_queries_keys_and_values_are_stacked() -> None:
    targets = weight_targets(replace(CONFIG, qkv_bias=True), NAMES)
    prefix = "model.layers.1.self_attn"
    leaf = "layers.1.qkv"
    expected = {"q": (0, 64), "k": (64, 32), "v": (96, 32)}
    for letter, (first_row, num_rows) in expected.items():
        weight, bias = (targets[f"{prefix}.{letter}_proj.{part}"] for part in ("weight", "bias"))
        assert weight == WeightTarget(
            leaf=leaf, part="weight", first_row=first_row, shape=(num_rows, 64)
        )
        assert bias == WeightTarget(leaf=leaf, part="bias", first_row=first_row, shape=(num_rows,))


def test_the_gate_comes_before_up() -> None:
    targets = weight_targets(CONFIG, NAMES)
    gate, up = (targets[f"model.layers.0.mlp.{name}_proj.weight"] for name in ("gate", "up"))
    assert (gate.leaf, gate.first_row, up.leaf, up.first_row) == (
        *("layers.0.gate_up", 0),
        *("layers.0.gate_up", 128),
    )


def test_one_module_may_hold_all_rows() -> None:
    names = {**NAMES, "qkv": ("layers.{layer}.fused",)}
    target = weight_targets(CONFIG, names)["layers.0.fused.weight"]
    assert (target.first_row, target.shape) == (0, (128, 64))


def test_leaves_come_in_the_order_of_the_forward_pass() -> None:
    shapes = leaf_shapes(replace(CONFIG, num_layers=1, windows=(None,), qk_norm=True))
    leaves = ["attention_norm", "qkv", "q_norm", "k_norm", "o", "mlp_norm", "gate_up", "down"]
    assert list(shapes) == [
        *("embedding", *(f"layers.0.{leaf}" for leaf in leaves)),
        *("final_norm", "lm_head"),
    ]
    assert shapes["layers.0.k_norm"] == LeafShape(rows=(16,))


def built(config: ModelConfig) -> tuple[ModelParams, list[str]]:
    """Return a tree of leaves of one element, and their paths in the order they were made in."""
    made: list[str] = []

    def linear(path: str) -> LinearWeight:
        made.append(path)
        return LinearWeight.plain(torch.zeros(1, 1))

    def vector(path: str) -> torch.Tensor:
        made.append(path)
        return torch.zeros(1)

    return build_params(config, linear=linear, vector=vector), made


@pytest.mark.parametrize(("is_terminal", "patience_s"), [(True, 0.0), (True, 60.0), (False, 0.0)])
def test_a_terminal_is_shown_how_far_long_work_is(
    is_terminal: bool, patience_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(weights, "PATIENCE_S", patience_s)
    built(CONFIG)
    is_shown = is_terminal and patience_s == 0.0
    assert (f"/{CONFIG.num_layers} [" in shown.getvalue()) == is_shown


def test_leaves_are_made_in_that_order_and_tied_ones_once() -> None:
    config = replace(CONFIG, tie_embeddings=True, qk_norm=True)
    params, made = built(config)
    assert made == list(leaf_shapes(config))
    assert params.lm_head is params.embedding
    assert params.cos_sin.shape == (config.max_model_len, config.rope.rotary_dim)


@pytest.mark.parametrize(
    ("name", "is_tied", "expected"),
    [
        ("lm_head.weight", True, True),
        ("lm_head.weight", False, False),
        ("model.layers.0.self_attn.rotary_emb.inv_freq", False, True),
        ("model.norm.weight", True, False),
    ],
)
def test_what_a_model_does_without_is_ignored(name: str, is_tied: bool, expected: bool) -> None:
    assert is_ignored(replace(CONFIG, tie_embeddings=is_tied), name) is expected


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("is_tied", [False, True])
def test_the_map_has_exactly_the_tensors_of_a_checkpoint(name: str, is_tied: bool) -> None:
    options = {"attention_bias": True} if name in {"llama", "qwen3"} else {}
    hf = HfModel(name, tie_word_embeddings=is_tied, **options)
    shapes = {name: target.shape for name, target in weight_map(hf.config()).items()}
    assert shapes == {name: tuple(tensor.shape) for name, tensor in hf.tensors().items()}
