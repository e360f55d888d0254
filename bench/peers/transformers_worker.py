"""transformers with static batches: `python -m bench.peers.transformers_worker`.

A batch is padded on its left to the longest prompt, and runs until its longest output is drawn;
only what a request asked for counts.
"""

from __future__ import annotations

import sys
from typing import Any

from bench.peers.service import serve_stdin


class TransformersContestant:
    """Generates in batches of batch_size, in the order of arrival."""

    def __init__(self, model: str, threads: int, dtype: str, batch_size: int) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(threads)
        self._torch: Any = torch
        self._batch_size = batch_size
        loaded = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype))
        self._model: Any = loaded.eval()

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("transformers", "torch")}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        num_drawn = 0
        for begin in range(0, len(prompts), self._batch_size):
            batch = slice(begin, begin + self._batch_size)
            num_drawn += self._run(prompts[batch], output_tokens[batch])
        return num_drawn

    def _run(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        torch, width, most = self._torch, max(map(len, prompts)), max(output_tokens)
        ids = torch.tensor([[0] * (width - len(each)) + each for each in prompts])
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts])
        with torch.inference_mode():
            drawn = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=False,
                min_new_tokens=most,
                max_new_tokens=most,
                pad_token_id=0,
            )
        num_each = drawn.shape[1] - width
        return sum(min(num_each, wanted) for wanted in output_tokens)


if __name__ == "__main__":
    sys.exit(serve_stdin(TransformersContestant))
