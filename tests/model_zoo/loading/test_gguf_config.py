"""A GGUF file's metadata make the configuration that its model was converted from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_zoo.config import ModelConfig
from model_zoo.loading.gguf_config import load_gguf_config
from model_zoo.loading.gguf_file import read_gguf
from model_zoo.rope_config import LinearScaling, LongRopeScaling, YarnScaling
from paged.errors import ConfigError, ModelFileError
from tests.helpers.gguf_files import (
    Kind,
    model_keys,
    model_tensors,
    small_llama,
    write_gguf,
    write_model,
)
from tests.helpers.hf_model import HfModel


def loaded(folder: Path, hf: HfModel, family: str, **changes: Any) -> ModelConfig:
    """Return the configuration of a model's file, some of whose keys are changed."""
    changed = {name.replace("__", "."): value for name, value in changes.items()}
    keys = model_keys(hf, family) | {f"{family}.{name}": v for name, v in changed.items()}
    path = write_gguf(folder / "model.gguf", keys, model_tensors(hf, family))
    return load_gguf_config(read_gguf(path))


@pytest.mark.parametrize(
    ("family", "overrides"),
    [
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
        ("llama", {"attention_bias": True}),
        ("llama", {"mlp_bias": True}),
        ("qwen2", {}),
        ("qwen3", {"head_dim": 16}),
    ],
)
def test_it_is_the_configuration_of_the_config_json(
    family: str, overrides: dict[str, Any], tmp_path: Path
) -> None:
    hf = HfModel(family, **overrides)
    expected = replace(hf.config(), norm_eps=float(np.float32(hf.config().norm_eps)))
    assert loaded(tmp_path, hf, family) == expected


def test_a_window_of_llama_makes_it_mistral(tmp_path: Path) -> None:
    config = loaded(tmp_path, small_llama(), "llama", attention__sliding_window=7)
    assert config.family == "mistral"
    assert config.windows == (7, 7)
    assert loaded(tmp_path, small_llama(), "llama").windows == (None, None)


def test_keys_that_old_files_lack_are_made_up_for(tmp_path: Path) -> None:
    absent = ("attention__key_length", "attention__value_length", "vocab_size", "rope__freq_base")
    config = loaded(tmp_path, small_llama(), "llama", **dict.fromkeys(absent))
    assert (config.head_dim, config.vocab_size, config.rope.theta) == (12, 61, 10_000.0)
    all_heads = loaded(tmp_path, small_llama(), "llama", attention__head_count_kv=None)
    assert all_heads.num_kv_heads == all_heads.num_heads


@pytest.mark.parametrize(
    ("kind", "dtype"), [(Kind.F32, "float32"), (Kind.F16, "float16"), (Kind.BF16, "bfloat16")]
)
def test_the_dtype_is_that_of_the_embedding(kind: Kind, dtype: str, tmp_path: Path) -> None:
    hf = small_llama()
    path = tmp_path / "model.gguf"
    kinds = {"token_embd.weight": kind}
    write_gguf(path, model_keys(hf, "llama"), model_tensors(hf, "llama"), kinds=kinds)
    assert load_gguf_config(read_gguf(path)).dtype == dtype


def test_scalings_of_positions_are_read(tmp_path: Path) -> None:
    hf = small_llama()
    assert loaded(tmp_path, hf, "llama", rope__scaling__type="none").rope.scaling is None
    linear = {"rope__scaling__type": "linear", "rope__scaling__factor": 4.0}
    assert loaded(tmp_path, hf, "llama", **linear).rope.scaling == LinearScaling(factor=4.0)
    yarn = {
        "rope__scaling__type": "yarn",
        "rope__scaling__factor": 2.0,
        "rope__scaling__original_context_length": 32,
    }
    plain = loaded(tmp_path, hf, "llama", **yarn).rope.scaling
    growth = 1.0 + 0.1 * np.log(2.0)
    assert isinstance(plain, YarnScaling)
    assert plain.original_positions == 32
    assert plain.attention_factor == pytest.approx(growth)
    scaled = loaded(tmp_path, hf, "llama", **yarn, rope__scaling__attn_factor=0.5).rope.scaling
    assert isinstance(scaled, YarnScaling)
    assert scaled.attention_factor == pytest.approx(0.5 * growth)


def test_part_of_a_head_may_be_turned(tmp_path: Path) -> None:
    config = loaded(tmp_path, small_llama(), "llama", rope__dimension_count=6)
    assert config.rope.rotary_dim == 6


def test_frequencies_of_llama_3_divide_those_of_the_pairs(tmp_path: Path) -> None:
    hf = small_llama()
    factors = [1.0, 1.0, 1.5, 2.0, 8.0, 8.0]
    tensors = model_tensors(hf, "llama") | {"rope_freqs.weight": np.array(factors, np.float32)}
    path = write_gguf(tmp_path / "model.gguf", model_keys(hf, "llama"), tensors)
    scaling = load_gguf_config(read_gguf(path)).rope.scaling
    assert isinstance(scaling, LongRopeScaling)
    assert scaling.short_factors == scaling.long_factors == tuple(factors)
    assert scaling.attention_factor == 1.0


@pytest.mark.parametrize(
    ("factors", "changes", "message"),
    [
        (np.ones(5, np.float32), {}, r"rope_freqs.weight of shape \(6,\), .*, got \(5,\)"),
        (np.ones((6, 1), np.float32), {}, r"got \(6, 1\)"),
        (np.full(6, np.nan, np.float32), {}, "rope_freqs.weight: rope scaling: expected a finite"),
        (
            np.ones(6, np.float32),
            {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0},
            r"no other scaling beside it, got .* LinearScaling\(factor=2.0\)",
        ),
    ],
    ids=["too few", "of two dimensions", "not finite", "scaled twice"],
)
def test_frequencies_of_another_form_are_one_error(
    factors: np.ndarray, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    hf = small_llama()
    tensors = model_tensors(hf, "llama") | {"rope_freqs.weight": factors}
    path = write_gguf(tmp_path / "model.gguf", model_keys(hf, "llama") | changes, tensors)
    with pytest.raises((ModelFileError, ConfigError), match=message) as raised:
        load_gguf_config(read_gguf(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block_count": None}, r"the key llama\.block_count is missing"),
        ({"block_count": "two"}, r"llama\.block_count must be a whole number"),
        ({"attention__head_count": [4, 4]}, r"head_count must be a whole number"),
        ({"attention__head_count": 0}, "num_attention_heads"),
        ({"attention__head_count_kv": 3}, "num_kv_heads"),
        ({"attention__layer_norm_rms_epsilon": None}, "rms_epsilon is missing"),
        ({"attention__value_length": 6}, "keys and values of one size, got 12 and 6"),
        ({"embedding_length": 2**32 - 1}, "hidden_size"),
        ({"rope__scaling__type": "longrope"}, "must be none, linear or yarn, got 'longrope'"),
        ({"rope__scaling__type": "linear"}, r"scaling\.factor is missing"),
        ({"expert_count": 8}, "mixtures of experts are not supported"),
    ],
)
def test_metadata_that_make_no_model_are_one_error(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises((ModelFileError, ConfigError), match=message):
        loaded(tmp_path, small_llama(), "llama", **changes)


def test_a_part_of_a_model_is_one_error(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", small_llama(), "llama", **{"split.count": 3})
    with pytest.raises(ModelFileError, match="got one of 3 parts of it; join them"):
        load_gguf_config(read_gguf(path))


def test_unknown_architectures_are_one_error(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "model.gguf", {"general.architecture": "mamba"})
    with pytest.raises(ModelFileError, match="one of llama, qwen2, qwen3, got 'mamba'"):
        load_gguf_config(read_gguf(path))


def test_a_window_of_other_families_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="which layers have the window is not said"):
        loaded(tmp_path, HfModel("qwen2"), "qwen2", attention__sliding_window=7)
