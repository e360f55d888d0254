"""One allocator, with the batching that goes with it, on the real engine and simulated.

All arms are the one engine, `LLM`: its option `allocator` names the policy, and the registry
says how the scheduler batches with it, continuously or statically. Model, kernels, KV pool,
limits and requests are the same, so nothing else tells the arms apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.live.ragged import RaggedLoad
from experiments.live.steps import StepLog, Steps
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.clock import VirtualClock
from paged.engine.engine import Engine
from paged.engine.llm import LLM
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.simulated import SimulatedExecutor
from paged.engine.step_time import StepTime
from paged.errors import ConfigError
from paged.sampling_params import SamplingParams
from paged.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """How the engine is set up, whatever computes the steps."""

    cache: CacheConfig
    scheduler: SchedulerConfig

    @classmethod
    def of(cls, config: LLMConfig, allocator: str) -> Arm:
        """Set one allocator up as `LLM` does.

        Raises ConfigError where its name is unknown, or where the configuration leaves blocks or
        the length of sequences to the machine and the model.
        """
        config = replace(config, allocator=allocator)
        num_blocks, max_model_len = config.num_gpu_blocks_override, config.max_model_len
        if num_blocks is None or max_model_len is None:
            raise ConfigError(
                "expected num_gpu_blocks_override and max_model_len, to simulate the same; got"
                f" {num_blocks} and {max_model_len}"
            )
        return cls(
            cache=config.cache_config(num_blocks=num_blocks, max_model_len=max_model_len),
            scheduler=config.scheduler_config(ALLOCATORS[allocator].batching),
        )


def real_arm(config: LLMConfig, loaded: LoadedModel, allocator: str) -> LLM:
    """Make the engine of one arm for a model in memory, and compute a first step with it."""
    llm = LLM.of(loaded, replace(config, allocator=allocator))
    llm.generate([[0]], SamplingParams(max_tokens=2, ignore_eos=True))
    return llm


def measure(llm: LLM, load: RaggedLoad) -> Steps:
    """Serve a load for real and return its steps."""
    params = [
        SamplingParams(temperature=0.0, max_tokens=num_tokens, ignore_eos=True)
        for num_tokens in load.output_tokens.tolist()
    ]
    engine, observers = llm.engine, llm.engine.observers
    log = StepLog(engine.now_s)
    engine.observers = (*observers, log)
    try:
        llm.generate([prompt.tolist() for prompt in load.prompts], params)
    finally:
        engine.observers = observers
    return log.steps()


def predict(arm: Arm, load: RaggedLoad, step_time: StepTime) -> Steps:
    """Serve a load in simulated time and return its steps."""
    max_rows, max_model_len = arm.scheduler.max_num_seqs, arm.cache.max_model_len
    allocator = make_allocator(arm.cache, max_rows=max_rows)
    scheduler = Scheduler(arm.scheduler, allocator, max_model_len=max_model_len)
    log = StepLog(0.0)
    executor = SimulatedExecutor(step_time, max_rows)
    engine = Engine(scheduler, executor, VirtualClock(), (log,))
    for request in load.requests():
        engine.add_request(request)
    while engine.has_work:
        engine.step()
    return log.steps()
