"""Runs of the tiny model, and faults planted in its weights and kernels for a diff to find."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from model_zoo.params import tensors
from paged.engine.difference import Tolerance
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.lockstep import Comparison, Lockstep, Run
from paged.kernel.op import KERNELS_DIR
from paged.sampling_params import SamplingParams
from tests.helpers.tiny_llm import tiny_model

GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)


def tiny_config(*, num_blocks: int = 64, **options: Any) -> LLMConfig:
    """Return options of the tiny model with a pool of so many blocks."""
    options = {"block_size": 4, "max_num_seqs": 8} | options
    return LLMConfig(
        model="tiny", dtype="float32", device="cpu", num_gpu_blocks_override=num_blocks, **options
    )


def compared(
    prompts: Sequence[str | list[int]],
    a: Run,
    b: Run,
    *,
    params: SamplingParams = GREEDY,
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Run the same requests on two runs and compare them."""
    for run in (a, b):
        for prompt in prompts:
            run.add(prompt, params)
    return Lockstep(a, b, tolerance or Tolerance()).compare()


def with_wrong_weight(leaf: str) -> LoadedModel:
    """Return the tiny model with one tensor of its tree changed, such as `layers.1.down`."""
    model = tiny_model()
    params = deepcopy(model.params)
    (target,) = (tensor for path, tensor in tensors(params) if path in (leaf, f"{leaf}.data"))
    target.mul_(1.25)
    return replace(model, params=params)


def wrong_kernel(folder: Path, shipped: str, old: str, new: str) -> str:
    """Write a shipped kernel, such as `attention/v0.cu`, with a change; return the file's path."""
    text = (KERNELS_DIR / shipped).read_text()
    assert text.count(old) == 1, f"{shipped} has {old!r} {text.count(old)} times"
    path = folder / Path(shipped).name
    path.write_text(text.replace(old, new))
    return str(path)
