"""GGUF tensors come out as transformers reads them: names, rows of heads, values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from model_zoo.loading.files import resolve
from model_zoo.loading.gguf_file import read_gguf
from model_zoo.loading.gguf_source import GgufSource
from model_zoo.loading.load_config import load_config
from model_zoo.loading.load_params import load_params
from tests.helpers.gguf_files import model_tensors, small_llama, write_gguf, write_model
from tests.helpers.hf_model import HfModel, relative_error, some_texts
from tests.helpers.ragged import RaggedRun

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama, tied": ("llama", {"tie_word_embeddings": True}),
    "llama with biases": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 16}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_file_holds_the_model_it_was_made_of(variant: str, tmp_path: Path) -> None:
    family, overrides = VARIANTS[variant]
    hf = HfModel(family, **overrides)
    files = resolve(str(write_model(tmp_path / "model.gguf", hf, family)))
    config = load_config(files)
    params = load_params(files, config, dtype=torch.float32, device=torch.device("cpu"))
    (text,) = some_texts((9,), config.vocab_size)
    (ours,) = RaggedRun(params, config, [text]).step([9])
    # the same float32 weights, rounded in another order
    assert relative_error(ours, hf.logits(text)) < 1e-5


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_tensors_are_bit_for_bit_those_that_transformers_reads(family: str, tmp_path: Path) -> None:
    hf = HfModel(family)
    path = write_model(tmp_path / "model.gguf", hf, family)
    theirs: Any = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file=path.name, dtype=torch.float32
    )
    file = read_gguf(path)
    source = GgufSource(file, load_config(resolve(str(path))))
    state = theirs.state_dict()
    assert set(source.shapes) == set(state)
    for name, expected in state.items():
        got = torch.full(expected.shape, torch.nan)
        source.read_into(name, got)
        assert torch.equal(got, expected), name


def test_a_tensor_of_unknown_name_keeps_it(tmp_path: Path) -> None:
    tensors = model_tensors(small_llama(), "llama")
    tensors |= {"blk.0.attn_sinks.weight": tensors["output_norm.weight"]}
    path = write_gguf(tmp_path / "model.gguf", {}, tensors)
    source = GgufSource(read_gguf(path), load_config(resolve("tiny")))
    assert "blk.0.attn_sinks.weight" in source.shapes
    assert "model.norm.weight" in source.shapes
