"""Our own engine as a contestant: `python -m bench.peers.paged_worker`."""

from __future__ import annotations

import sys
from statistics import median
from typing import Any, cast

import torch

from bench.host_floor import NUM_PROBES, host_floor
from bench.peers.service import serve_stdin
from model_zoo.params import ModelParams
from paged.engine.llm import LLM
from paged.engine.model_executor import ModelExecutor
from paged.kernel.linear_weight import LinearWeight
from paged.sampling_params import SamplingParams


class PagedContestant:
    """The engine as a user gets it. options: fields of LLMConfig."""

    def __init__(self, model: str, threads: int, options: dict[str, Any]) -> None:
        self._llm = LLM(model, device="cpu", num_threads=threads, **options)

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("paged", "torch", "numpy")}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        outputs = self._llm.generate(prompts, greedy(output_tokens))
        return sum(len(each.outputs[0].tokens) for each in outputs)

    def op_floor(self, prompts: list[list[int]], output_tokens: list[int]) -> dict[str, float]:
        """Measure anew what no kernel can beat.

        Returns `read_s`, reading all weights once; `compute_s`, the multiply-adds of those
        requests' linear layers, and of nothing else.
        """
        params = cast("ModelExecutor", self._llm.engine.executor).params
        integers = params.lm_head.data.dtype == torch.int8
        tokens = sum(map(len, prompts)) + sum(output_tokens) - len(prompts)
        num_products = products(params, num_tokens=tokens, num_samples=sum(output_tokens))
        read_us = host_floor(weight_bytes(params), 0.0)(NUM_PROBES)
        compute_us = host_floor(0, 2.0 * num_products, integers=integers)(NUM_PROBES)
        return {"read_s": median(read_us) / 1e6, "compute_s": min(compute_us) / 1e6}


def greedy(output_tokens: list[int]) -> list[SamplingParams]:
    """Ask for so many tokens each, with no other end."""
    return [
        SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
        for count in output_tokens
    ]


def weight_bytes(params: ModelParams) -> int:
    """Bytes of the matrices that a decode step reads, tied ones once."""
    return sum(matrix.num_bytes for matrix in (params.lm_head, *_layer_matrices(params)))


def products(params: ModelParams, *, num_tokens: int, num_samples: int) -> int:
    """Multiply-adds of the linear layers: the head for samples, all others for every token."""
    layers = sum(each.in_features * each.out_features for each in _layer_matrices(params))
    head = params.lm_head.in_features * params.lm_head.out_features
    return layers * num_tokens + head * num_samples


def _layer_matrices(params: ModelParams) -> list[LinearWeight]:
    return [
        matrix
        for layer in params.layers
        for matrix in (layer.qkv, layer.o, layer.gate_up, layer.down)
    ]


if __name__ == "__main__":
    sys.exit(serve_stdin(PagedContestant))
