"""Weights arrive in their leaves, in the form that was asked for, or not at all."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.multiprocessing.reductions import StorageWeakRef

from model_zoo.config import ModelConfig
from model_zoo.loading.files import ModelFiles, resolve
from model_zoo.loading.load_config import load_config
from model_zoo.loading.load_params import load_params
from model_zoo.params import ModelParams, tensors
from paged.errors import ConfigError, ModelFileError
from paged.kernel.linear_weight import LinearWeight, WeightType
from tests.helpers.gguf_files import model_keys, model_tensors, small_llama, write_gguf
from tests.helpers.hf_model import HfModel, params_from, relative_error, some_texts
from tests.helpers.ragged import RaggedRun

CPU = torch.device("cpu")


def write_folder(folder: Path, hf: HfModel) -> Path:
    """Write a model of transformers as a folder of ours."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(hf.values))
    save_file(
        {name: t.contiguous() for name, t in hf.tensors().items()}, folder / "model.safetensors"
    )
    return folder


def load(model: Path | str, dtype: torch.dtype = torch.float32) -> ModelParams:
    """Return the weights of a model."""
    files = resolve(str(model))
    return load_params(files, load_config(files), dtype=dtype, device=CPU)


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
def test_a_folder_computes_what_transformers_does(family: str, tmp_path: Path) -> None:
    hf = HfModel(family)
    folder = write_folder(tmp_path / "model", hf)
    config = load_config(resolve(str(folder)))
    (text,) = some_texts((9,), config.vocab_size)
    (ours,) = RaggedRun(load(folder), config, [text]).step([9])
    # the same float32 weights, rounded in another order
    assert relative_error(ours, hf.logits(text)) < 1e-5


def test_what_transformers_saves_is_read(tmp_path: Path) -> None:
    hf = HfModel("llama")
    hf.model.save_pretrained(tmp_path, max_shard_size="20kB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    got = dict(tensors(load(tmp_path)))
    expected = dict(tensors(params_from(hf.config(), hf.tensors())))
    dequantized = load(tmp_path).layers[0].qkv.dequantized()
    assert set(got) == set(expected)
    parts = [hf.tensors()[f"model.layers.0.self_attn.{p}_proj.weight"] for p in "qkv"]
    assert torch.equal(dequantized, torch.cat(parts))


def test_bfloat16_is_rounded_once_and_norms_are_not(tmp_path: Path) -> None:
    hf = HfModel("llama")
    params = load(write_folder(tmp_path / "model", hf), torch.bfloat16)
    down = hf.tensors()["model.layers.0.mlp.down_proj.weight"]
    assert torch.equal(params.layers[0].down.dequantized(), down.bfloat16().float())
    norm = params.layers[0].attention_norm
    assert norm.dtype == torch.float32
    assert torch.equal(norm, hf.tensors()["model.layers.0.input_layernorm.weight"])


def test_int8_is_near(tmp_path: Path) -> None:
    hf = HfModel("llama")
    files = resolve(str(write_folder(tmp_path / "model", hf)))
    config = load_config(files)
    params = load_params(files, config, dtype=torch.bfloat16, device=CPU, quantization="int8")
    down = hf.tensors()["model.layers.0.mlp.down_proj.weight"]
    # half a step of 127 for the largest value of each row
    bound = down.abs().amax(1, keepdim=True) / 127 / 2
    assert ((params.layers[0].down.dequantized() - down).abs() <= bound * 1.01).all()


def test_tied_embeddings_are_one_weight(tmp_path: Path) -> None:
    hf = HfModel("llama", tie_word_embeddings=True)
    params = load(write_folder(tmp_path / "model", hf))
    assert params.lm_head is params.embedding


def test_tiny_is_the_same_every_time() -> None:
    first, second = dict(tensors(load("tiny"))), dict(tensors(load("tiny")))
    assert all(torch.equal(first[name], second[name]) for name in first)


def write_deep_gguf(path: Path) -> Path:
    """Write a GGUF file of which one leaf is a small part."""
    hf = HfModel("llama", num_hidden_layers=8, hidden_size=192, intermediate_size=160)
    return write_gguf(path, model_keys(hf, "llama"), model_tensors(hf, "llama"))


def test_the_arrays_that_values_pass_through_are_few(tmp_path: Path) -> None:
    path = write_deep_gguf(tmp_path / "model.gguf")
    load(path)  # what a first load imports and keeps is none of them
    tracemalloc.start()
    load(path)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # numpy is traced, torch is not
    largest_bytes = 192 * 192 * 4
    assert peak_bytes < 4 * largest_bytes


Place = Callable[[torch.Tensor], torch.Tensor]


def test_one_leaf_at_a_time_is_held_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, earlier = LinearWeight.packed, list[StorageWeakRef]()

    def watched(weight: LinearWeight, dtype: WeightType, *, place: Place) -> LinearWeight:
        assert all(plain.expired() for plain in earlier)
        earlier.append(StorageWeakRef(weight.data.untyped_storage()))
        return packed(weight, dtype, place=place)

    monkeypatch.setattr(LinearWeight, "packed", watched)
    load(write_deep_gguf(tmp_path / "model.gguf"))
    assert len(earlier) == 2 + 4 * 8


Change = Callable[[dict[str, torch.Tensor]], None]


def _drop(tensors: dict[str, torch.Tensor]) -> None:
    del tensors["model.layers.1.mlp.up_proj.weight"]


def _add(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.layers.0.self_attn.sinks"] = torch.ones(2)


def _turn(tensors: dict[str, torch.Tensor]) -> None:
    name = "model.layers.0.mlp.down_proj.weight"
    tensors[name] = tensors[name].T


def _spoil(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.layers.1.self_attn.k_proj.weight"][3, 5] = torch.nan


def _overflow(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.norm.weight"][0] = torch.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_drop, r"missing: model\.layers\.1\.mlp\.up_proj\.weight; unknown: none"),
        (_add, r"missing: none; unknown: model\.layers\.0\.self_attn\.sinks"),
        (_turn, r"down_proj\.weight: expected shape \(48, 40\) .*, got \(40, 48\)"),
        (_spoil, r"tensor model\.layers\.1\.self_attn\.k_proj\.weight holds values that are not"),
        (_overflow, r"tensor model\.norm\.weight holds values that are not finite"),
    ],
)
def test_a_checkpoint_of_another_model_is_one_error(
    change: Change, message: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "model", small_llama())
    changed = {name: tensor.clone() for name, tensor in small_llama().tensors().items()}
    change(changed)
    whole = {name: tensor.contiguous() for name, tensor in changed.items()}
    save_file(whole, folder / "model.safetensors")
    with pytest.raises(ModelFileError, match=message) as raised:
        load(folder)
    assert "\n" not in str(raised.value)


def test_large_values_are_finite(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", small_llama())
    changed = {name: tensor.clone() for name, tensor in small_llama().tensors().items()}
    changed["model.layers.0.mlp.down_proj.weight"].fill_(3e38)
    save_file(changed, folder / "model.safetensors")
    assert load(folder).layers[0].down.dequantized().isfinite().all()


def test_many_missing_tensors_are_not_all_listed(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", small_llama())
    save_file({"a": torch.ones(1)}, folder / "model.safetensors")
    with pytest.raises(ModelFileError, match="and 16 more; unknown: a") as raised:
        load(folder)
    assert len(str(raised.value)) < 800


def test_what_a_checkpoint_may_hold_besides_is_passed_over(tmp_path: Path) -> None:
    hf = HfModel("llama", tie_word_embeddings=True)
    folder = write_folder(tmp_path / "model", hf)
    extra = {"lm_head.weight": torch.ones(61, 48), "x.rotary_emb.inv_freq": torch.ones(6)}
    save_file(hf.tensors() | extra, folder / "model.safetensors")
    params = load(folder)
    assert torch.equal(params.lm_head.dequantized(), hf.tensors()["model.embed_tokens.weight"])


@pytest.mark.parametrize(
    ("dtype", "device", "quantization", "message"),
    [
        (torch.float16, "cpu", None, "one of bfloat16, float32, got torch.float16"),
        (torch.bfloat16, "cpu", "int4", "one of int8, got 'int4'"),
        (torch.bfloat16, "meta", "int8", "runs on the CPU, got device meta"),
    ],
)
def test_a_type_that_the_device_lacks_is_one_error(
    dtype: torch.dtype, device: str, quantization: str | None, message: str
) -> None:
    config: ModelConfig = replace(load_config(resolve("tiny")))
    with pytest.raises(ConfigError, match=message):
        load_params(
            ModelFiles(name="tiny"),
            config,
            dtype=dtype,
            device=torch.device(device),
            quantization=quantization,
        )
