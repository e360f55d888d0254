"""vLLM's own scheduler at a constant batch and in a simulation, without a model.

Runs only where vLLM is installed. vLLM's settings are its defaults, save for a watermark
equal to ours and a token budget that never binds.
"""

# vLLM lives in another environment than the type checker's.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from bench.load import BLOCK_SIZE, MAX_MODEL_LEN, VOCAB_SIZE, SaturatedLoad, SteadyLoad

MAX_BATCHED_TOKENS = 1 << 20
WATERMARK = 0.01
OPT_CONFIG = {
    "model_type": "opt",
    "architectures": ["OPTForCausalLM"],
    "hidden_size": 64,
    "word_embed_proj_dim": 64,
    "ffn_dim": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "max_position_embeddings": MAX_MODEL_LEN,
    "vocab_size": VOCAB_SIZE,
    "torch_dtype": "float32",
}


def make_model_config(folder: Path) -> ModelConfig:
    """Describe a model that is never loaded; only its limits reach the scheduler.

    Mutates: writes the description into folder, which vLLM reads again later.
    """
    (folder / "config.json").write_text(json.dumps(OPT_CONFIG))
    return ModelConfig(
        model=str(folder),
        tokenizer=str(folder),
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=MAX_MODEL_LEN,
    )


class VllmSide:
    """vLLM's scheduler over one attention group, and the requests to feed it."""

    def __init__(
        self, model: ModelConfig, *, num_blocks: int, max_running: int, is_caching: bool
    ) -> None:
        cache = CacheConfig(block_size=BLOCK_SIZE, enable_prefix_caching=is_caching)
        # One more than ours: vLLM keeps block 0 for itself.
        cache.num_gpu_blocks = num_blocks + 1
        config = VllmConfig(
            model_config=model,
            cache_config=cache,
            scheduler_config=SchedulerConfig(
                max_num_seqs=max_running,
                max_num_batched_tokens=MAX_BATCHED_TOKENS,
                max_model_len=MAX_MODEL_LEN,
                is_encoder_decoder=False,
                watermark=WATERMARK,
            ),
            device_config=DeviceConfig(device="cpu"),
        )
        spec = FullAttentionSpec(
            block_size=BLOCK_SIZE, num_kv_heads=1, head_size=64, dtype=torch.float32
        )
        self.scheduler = Scheduler(
            config,
            KVCacheConfig(
                num_blocks=num_blocks + 1,
                kv_cache_tensors=[],
                kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)],
            ),
            StructuredOutputManager(config),
            block_size=BLOCK_SIZE,
        )
        self.hash_name = str(cache.prefix_caching_hash_algo)
        hash_tokens = get_hash_fn_by_name(self.hash_name)
        init_none_hash(hash_tokens)
        self._hasher = get_request_block_hasher(BLOCK_SIZE, hash_tokens) if is_caching else None
        self._num_made = 0

    def make_request(self, tokens: list[int], output_tokens: int) -> Request:
        """Build a request; with prefix caching this hashes its prompt."""
        self._num_made += 1
        params = SamplingParams(max_tokens=output_tokens, ignore_eos=True, temperature=0.0)
        return Request(str(self._num_made), tokens, params, None, block_hasher=self._hasher)


def answer_step(scheduled: Any, tokens: list[int]) -> ModelRunnerOutput:
    """Build what a model runner would return: one token for each scheduled request."""
    ids = list(scheduled.num_scheduled_tokens)
    return ModelRunnerOutput(
        req_ids=ids,
        req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
        sampled_token_ids=[[token] for token in tokens[: len(ids)]],
    )


class SteadyPeer:
    """vLLM's scheduler at a constant batch."""

    def __init__(self, model: ModelConfig, load: SteadyLoad) -> None:
        self._load = load
        self._prompts = load.generator()
        self._tokens = np.random.default_rng(load.seed + 1)
        self._step = 0
        self._side = VllmSide(
            model, num_blocks=load.num_blocks, max_running=load.num_running, is_caching=True
        )
        self.scheduler = self._side.scheduler
        for output_tokens in load.first_output_tokens():
            self._add(output_tokens)
        self._scheduled = self.scheduler.schedule()

    def _add(self, output_tokens: int) -> None:
        prompt = self._load.draw_prompt(self._prompts).tolist()
        self.scheduler.add_request(self._side.make_request(prompt, output_tokens))

    def time_step(self) -> dict[str, float]:
        """Run one step; time update + schedule, and apart from it the arrivals."""
        started = perf_counter()
        for _ in range(self._load.num_ending(self._step)):
            self._add(self._load.output_tokens)
        arrived = perf_counter()
        tokens = self._tokens.integers(0, VOCAB_SIZE, self._load.num_running).tolist()
        output = answer_step(self._scheduled, tokens)
        ready = perf_counter()
        self.scheduler.update_from_output(self._scheduled, output)
        self._scheduled = self.scheduler.schedule()
        done = perf_counter()
        self._step += 1
        return {"step_us": (done - ready) * 1e6, "arrival_us": (arrived - started) * 1e6}


def time_simulation(model: ModelConfig, load: SaturatedLoad) -> dict[str, float]:
    """Drive vLLM's scheduler through a saturated load with a model that takes no time."""
    side = VllmSide(
        model, num_blocks=load.num_blocks, max_running=load.max_running, is_caching=False
    )
    tokens = [0] * load.max_running
    started = perf_counter()
    for prompt_tokens, output_tokens in zip(*load.lengths(), strict=True):
        side.scheduler.add_request(side.make_request([0] * prompt_tokens, output_tokens))
    num_steps = num_drawn = 0
    while side.scheduler.has_unfinished_requests():
        scheduled = side.scheduler.schedule()
        side.scheduler.update_from_output(scheduled, answer_step(scheduled, tokens))
        num_steps += 1
        num_drawn += len(scheduled.num_scheduled_tokens)
    elapsed_us = (perf_counter() - started) * 1e6
    return {"elapsed_us": elapsed_us, "num_steps": num_steps, "num_drawn": num_drawn}
