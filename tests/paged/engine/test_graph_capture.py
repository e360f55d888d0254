"""CUDA graphs: what is run again is what would have run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from model_zoo import transformer
from model_zoo.batch import ModelBatch
from paged.config import CacheConfig
from paged.engine.decode_graphs import DecodeGraphs, find_capture
from paged.engine.decode_inputs import DecodeInputs
from paged.engine.graph_capture import CudaCapture
from paged.engine.host_capture import HostCapture
from paged.engine.kv_pool import make_pools
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import load_model
from paged.errors import KernelRunError
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Batch


def test_a_cpu_records_host_kernels() -> None:
    assert isinstance(find_capture(torch.device("cpu")), HostCapture)


@pytest.mark.gpu
def test_a_recording_reads_what_its_tensors_hold_then() -> None:
    device = torch.device("cuda", 0)
    source, target = (torch.zeros(8, device=device) for _ in range(2))
    capture = CudaCapture(device)
    replay = capture(lambda: target.copy_(source * 2 + 1))
    capture(lambda: target.copy_(source * 3))
    for number in (4.0, 5.0):
        source.fill_(number)
        replay()
        assert target.tolist() == [2 * number + 1] * 8


@pytest.mark.gpu
def test_what_waits_for_the_device_cannot_be_recorded() -> None:
    device = torch.device("cuda", 0)
    source = torch.zeros(8, device=device)
    with pytest.raises(KernelRunError, match="cannot be recorded as a CUDA graph"):
        CudaCapture(device)(lambda: source.sum().item())


@pytest.mark.gpu
def test_a_recorded_step_gives_the_bits_of_the_step_itself(
    make_batch: Callable[..., Batch],
) -> None:
    device = torch.device("cuda", 0)
    model = load_model(LLMConfig(model="tiny", device="cuda", max_model_len=128))
    cache = CacheConfig(num_blocks=64, block_size=16, max_model_len=128)
    pools = make_pools(model.config, cache, dtype=model.kv_dtype, device=device)
    pools.device[0].normal_(generator=torch.Generator(device).manual_seed(1))
    inputs = DecodeInputs(max_rows=8, max_blocks_per_row=8, num_groups=1, device=device)

    def forward(batch: ModelBatch) -> torch.Tensor:
        return transformer.forward(model.params, model.config, pools.device, batch)

    graphs = DecodeGraphs(
        forward, inputs, CudaCapture(device), sizes=(2, 8), vocab_size=model.config.vocab_size
    )
    with torch.inference_mode():
        graphs.record_all()
        for step, num_seqs in enumerate((3, 8, 2, 1, 5, 8)):
            batch = make_batch(*[(row, 9 * row + 7 * step, 1, 1) for row in range(num_seqs)])
            batch.tables.ids[:] = 8 * np.arange(8)[:, None] + np.arange(8)
            batch.tokens[:] = np.arange(8 * 128).reshape(8, 128) % model.config.vocab_size
            size = graphs.prepare(batch)
            replayed = graphs.run(size)[:num_seqs].clone()
            stored = pools.device[0].clone()
            assert size == (2 if num_seqs <= 2 else 8)
            assert torch.equal(replayed, forward(inputs.batch(size))[:num_seqs])
            assert torch.equal(pools.device[0], stored)


@pytest.mark.gpu
@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_recorded_decode_draws_what_decode_without_recordings_draws(preemption: str) -> None:
    prompts = ["the quick brown fox", "a", "zebra crossing", "0123456789abcdef"] * 3
    params = SamplingParams(temperature=0.0, max_tokens=30, logprobs=1, ignore_eos=True)
    options: dict[str, Any] = {
        "device": "cuda",
        "max_model_len": 96,
        "block_size": 4,
        "num_gpu_blocks_override": 60,
        "preemption": preemption,
        "max_num_seqs": 12,
    }
    model = load_model(LLMConfig(model="tiny", **options))
    tokens: list[list[list[int]]] = []
    for sizes in ((), None, (5, 12)):
        llm = LLM.of(model, LLMConfig(model="tiny", cuda_graph_sizes=sizes, **options))
        outputs = llm.generate(prompts, params)
        tokens.append([output.outputs[0].tokens for output in outputs])
    assert tokens[0] == tokens[1] == tokens[2]
