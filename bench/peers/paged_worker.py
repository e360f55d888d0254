"""Our own engine as a contestant: `python -m bench.peers.paged_worker`."""

from __future__ import annotations

import sys
from typing import Any, cast

from bench.host_floor import host_floor
from bench.peers.service import serve_stdin
from model_zoo.params import ModelParams
from paged.engine.llm import LLM
from paged.engine.model_executor import ModelExecutor
from paged.sampling_params import SamplingParams


class PagedContestant:
    """The engine as a user gets it. options: fields of LLMConfig."""

    def __init__(self, model: str, threads: int, options: dict[str, Any]) -> None:
        self._llm = LLM(model, device="cpu", num_threads=threads, **options)

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("paged", "torch", "numpy")}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        params = [
            SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
            for count in output_tokens
        ]
        outputs = self._llm.generate(prompts, params)
        return sum(len(each.outputs[0].tokens) for each in outputs)

    def op_floor(self) -> dict[str, float]:
        """Measure anew how long reading all weights once takes at best."""
        executor = cast("ModelExecutor", self._llm.engine.executor)
        num_bytes = weight_bytes(executor.params)
        (read_us,) = host_floor(num_bytes, 0.0)(1)
        return {"weight_bytes": num_bytes, "read_s": read_us / 1e6}


def weight_bytes(params: ModelParams) -> int:
    """Bytes of the matrices that a decode step reads, tied ones once."""
    matrices = {id(params.lm_head): params.lm_head}
    for layer in params.layers:
        for matrix in (layer.qkv, layer.o, layer.gate_up, layer.down):
            matrices[id(matrix)] = matrix
    return sum(matrix.num_bytes for matrix in matrices.values())


if __name__ == "__main__":
    sys.exit(serve_stdin(PagedContestant))
