"""An engine whose model takes no time, or exactly as long as it is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from model_zoo.loading.files import resolve
from model_zoo.loading.load_tokenizer import load_tokenizer
from model_zoo.loading.tokenizer import Tokenizer
from paged.engine.engine import Engine
from paged.engine.llm_config import GPU_STEP_TOKENS, LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.model_engine import make_engine
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import AffineStepTime
from paged.scheduler.batch import Batch, StepResult
from paged.scheduler.request import Request
from paged.types import TokenArray

MAX_MODEL_LEN = 2048
NUM_BLOCKS = 1280

_TEXT = "The blocks of a sequence lie wherever there was room, and a table says where. "


class Pace:
    """Ends steps on time: at multiples of step_s on the monotonic clock, which clients see too.

    step_s: 0 lets each end at once.
    """

    def __init__(self) -> None:
        self.step_s = 0.0

    def wait(self) -> None:
        """Wait for the end of a step, as other threads run."""
        if self.step_s:
            time.sleep(self.step_s - time.monotonic() % self.step_s)


class PacedExecutor:
    """Draws the same text for every request, without a model."""

    def __init__(self, max_rows: int, tokenizer: Tokenizer, pace: Pace) -> None:
        no_time = AffineStepTime(base_s=0.0, context_s_per_token=0.0, scheduled_s_per_token=0.0)
        self._pace = pace
        self._tokens = np.array(tokenizer.encode(_TEXT, add_special_tokens=False), np.int32)
        self._simulated = SimulatedExecutor(no_time, max_rows, output_tokens=self._output)

    def execute(self, batch: Batch) -> StepResult:
        """Run one step."""
        tokens = self._simulated.execute(batch).tokens
        self._pace.wait()
        # What a model stops at is not shown; these are, up to the limit of the request.
        return StepResult(
            tokens=tokens, is_stopped=np.zeros(len(tokens), np.bool_), duration_s=self._pace.step_s
        )

    def _output(self, request: Request) -> TokenArray:
        return np.resize(self._tokens, request.max_new_tokens)


def paced_options(model: str) -> LLMConfig:
    """Return options of every engine here: a pool for 64 streams, and some to spare.

    The budget of a step is a GPU's: nothing is computed, and prompts need not wait.
    """
    return LLMConfig(
        model=model,
        device="cpu",
        num_gpu_blocks_override=NUM_BLOCKS,
        max_num_batched_tokens=GPU_STEP_TOKENS,
    )


def paced_model(name: str) -> LoadedModel:
    """Return the tiny model with the tokenizer of another, whose weights nobody needs."""
    tiny = load_model(paced_options("tiny"))
    tokenizer = load_tokenizer(resolve(name), chat_template=None)
    config = replace(tiny.config, vocab_size=tokenizer.vocab_size, max_model_len=MAX_MODEL_LEN)
    return replace(tiny, name=name, tokenizer=tokenizer, config=config)


def make_paced_engine(
    options: LLMConfig, model: LoadedModel, *, pace: Pace, on_failure: Callable[[Exception], None]
) -> Engine:
    """Build a model's engine, and let it compute nothing."""
    engine = make_engine(options, model, on_failure=on_failure)
    max_rows = engine.scheduler.allocator.tables.max_rows
    engine.executor = PacedExecutor(max_rows, model.tokenizer, pace)
    return engine
