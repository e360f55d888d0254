"""Beam searches of transformers on a small random model, and that model behind an LLM."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from tests.helpers.hf_model import HfModel, params_from
from tests.helpers.tiny_llm import check_every_step, tiny_model

STOP_IDS = [3, 60, 118, 200, 257]
"""Tokens that complete a hypothesis; the last is the model's own end."""

LENGTH_PENALTY = 0.7


@lru_cache(maxsize=1)
def _hf_model() -> HfModel:
    return HfModel("llama", vocab_size=258, max_position_embeddings=96, seed=3)


def hf_llm(**options: Any) -> LLM:
    """Make an LLM of the weights of the random model, with the tokenizer of the tiny model."""
    source = _hf_model()
    config = source.config()
    tiny = tiny_model()
    loaded = LoadedModel(
        name="random",
        config=config,
        params=params_from(config, source.tensors()),
        tokenizer=tiny.tokenizer,
        device=tiny.device,
        kv_dtype=torch.float32,
    )
    num_blocks = options.pop("num_blocks", 96)
    options = {"block_size": 4, "max_num_seqs": 16, **options}
    llm = LLM.of(loaded, LLMConfig(model="tiny", num_gpu_blocks_override=num_blocks, **options))
    check_every_step(llm)
    return llm


def hf_beams(
    prompt: list[int], *, width: int, max_new_tokens: int, min_new_tokens: int
) -> list[tuple[list[int], float]]:
    """Return the hypotheses of transformers and their scores, best first."""
    tokens = torch.tensor([prompt])
    found = _hf_model().model.generate(
        tokens,
        attention_mask=torch.ones_like(tokens),
        do_sample=False,
        num_beams=width,
        num_return_sequences=width,
        length_penalty=LENGTH_PENALTY,
        max_new_tokens=max_new_tokens,
        min_new_tokens=min_new_tokens,
        eos_token_id=STOP_IDS,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    rows = [_without_padding(row) for row in found.sequences[:, len(prompt) :].tolist()]
    return list(zip(rows, found.sequences_scores.tolist(), strict=True))


def _without_padding(row: list[int]) -> list[int]:
    ends = [place for place, token in enumerate(row, start=1) if token in STOP_IDS]
    return row[: min(ends, default=len(row))]
