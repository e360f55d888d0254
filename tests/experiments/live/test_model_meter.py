"""The meter sees every call of the model and leaves nothing behind."""

from __future__ import annotations

from typing import cast

import torch

from experiments.live.model_meter import ModelMeter, metered
from model_zoo.batch import ModelBatch
from paged import SamplingParams
from paged.engine.model_executor import ModelExecutor
from tests.helpers.tiny_llm import tiny_llm


def test_it_passes_calls_on_and_counts_padding_too() -> None:
    meter = ModelMeter(lambda params, config, pools, batch: (params, config, pools, batch))
    batch = ModelBatch(
        tokens=torch.zeros(8, dtype=torch.int32),
        positions=torch.zeros(8, dtype=torch.int64),
        query_start=torch.tensor([0, 5], dtype=torch.int32),
        seq_lens=torch.tensor([5], dtype=torch.int32),
        max_query_len=5,
        groups=(),
    )
    assert meter(1, 2, 3, batch) == (1, 2, 3, batch)
    assert meter.num_given_tokens == 8
    assert meter.model_s > 0


def test_an_executor_is_as_before_when_the_block_ends() -> None:
    llm = tiny_llm()
    executor = cast("ModelExecutor", llm.engine.executor)
    forward = executor.forward
    params = SamplingParams(max_tokens=2, ignore_eos=True, temperature=0.0)
    with metered(executor) as meter:
        outputs = llm.generate([[1, 2, 3]], params)
        assert meter.num_given_tokens == 1
        assert meter.model_s > 0
    assert executor.forward is forward
    assert llm.generate([[1, 2, 3]], params)[0].outputs[0].tokens == outputs[0].outputs[0].tokens
