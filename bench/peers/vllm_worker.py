"""vLLM as a contestant, in its own environment: `VLLM_PYTHON -m bench.peers.vllm_worker`."""

# vLLM lives in another environment than the type checker's.
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import sys
from typing import Any

from bench.peers.service import serve_stdin


class VllmContestant:
    """vLLM's own engine in this process, on so many threads."""

    def __init__(self, model: str, threads: int, dtype: str, kv_gib: int = 2) -> None:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(kv_gib)
        os.environ["VLLM_CPU_OMP_THREADS_BIND"] = f"0-{threads - 1}"
        from vllm import LLM

        self._llm: Any = LLM(
            model=model,
            dtype=dtype,
            skip_tokenizer_init=True,
            max_model_len=1024,
            max_num_seqs=32,
            enable_prefix_caching=False,
            disable_log_stats=True,
        )

    def versions(self) -> dict[str, str]:
        import torch
        import vllm

        return {"vllm": vllm.__version__, "torch": torch.__version__}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        from vllm import SamplingParams

        params = [
            SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True, detokenize=False)
            for count in output_tokens
        ]
        inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
        outputs = self._llm.generate(inputs, params, use_tqdm=False)
        return sum(len(each.outputs[0].token_ids) for each in outputs)


if __name__ == "__main__":
    sys.exit(serve_stdin(VllmContestant))
