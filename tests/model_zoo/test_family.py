"""A family whose layers differ in more than data brings the forward pass that runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from model_zoo import registry, transformer
from model_zoo.batch import ModelBatch
from model_zoo.config import ModelConfig
from model_zoo.params import ModelParams
from paged.sampling_params import SamplingParams
from tests.helpers.hf_model import HfModel, check_logits
from tests.helpers.tiny_llm import tiny_llm


def one_answer(
    params: ModelParams, config: ModelConfig, kv: Sequence[torch.Tensor], batch: ModelBatch
) -> torch.Tensor:
    """Return the logits of a model that answers every token with `!`."""
    logits = torch.zeros_like(transformer.forward(params, config, kv, batch))
    logits[:, ord("!")] = 1.0
    return logits


def test_a_familys_own_forward_is_what_engine_and_check_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hf = HfModel("llama")
    check_logits(hf, hf.config())
    own = replace(registry.find_family("llama"), forward=one_answer)
    monkeypatch.setattr(registry, "FAMILIES", {**registry.FAMILIES, "llama": own})
    (answer,) = tiny_llm().generate("hello", SamplingParams(temperature=0.0, max_tokens=3))
    assert answer.outputs[0].text == "!!!"
    with pytest.raises(AssertionError, match="whole, text 0"):
        check_logits(hf, hf.config())
