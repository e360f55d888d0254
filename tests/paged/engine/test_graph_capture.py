"""CUDA graphs: what is run again is what would have run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from paged.engine.graph_capture import CudaCapture, find_capture
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import load_model
from paged.errors import KernelRunError
from paged.sampling_params import SamplingParams


def test_a_cpu_records_nothing() -> None:
    assert find_capture(torch.device("cpu")) is None


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
