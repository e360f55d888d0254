"""What is simulated: the pool and engine of an experiment, and one run of it."""

from __future__ import annotations

from dataclasses import dataclass

from paged.allocator.base import Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.config import CacheConfig, SchedulerConfig
from paged.engine.step_time import AffineStepTime, RooflineStepTime, StepTime
from paged.errors import ConfigError
from paged.hardware import HardwareSpec
from paged.recording.header import RecordedModel
from paged.shapes import ModelShape

STEP_TIMES = ("roofline", "uniform")
UNIFORM_STEP = AffineStepTime(base_s=0.02, context_s_per_token=0.0, scheduled_s_per_token=0.0)

DEFAULT_BLOCK_SIZE = 16
DEFAULT_WATERMARK = 0.01


def recorded_shape(model: ModelShape) -> RecordedModel:
    """Return what a recording says of a model of this shape."""
    return RecordedModel(
        name=model.name,
        num_heads=model.num_heads,
        num_kv_heads=model.num_kv_heads,
        head_dim=model.head_dim,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run: an allocator with its settings, and the seed of workload and arrivals."""

    allocator: str
    seed: int
    block_size: int = DEFAULT_BLOCK_SIZE
    watermark: float = DEFAULT_WATERMARK

    def __post_init__(self) -> None:
        if self.allocator not in ALLOCATORS:
            raise ConfigError(
                f"unknown allocator {self.allocator!r}: expected some of {', '.join(ALLOCATORS)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What all runs of an experiment share.

    kv_slots: pool size; a run's capacity is this rounded down to whole blocks.
    max_num_batched_tokens: token budget of a step; None computes a prompt in one step.
    page_bytes: physical page of the `virtual` allocator, for one layer's K or V.
    arrivals: saturated, trace or poisson; rate_per_s goes with poisson.
    step_time_model: roofline of model and gpu, or uniform (all steps weigh the same).
    """

    model: ModelShape
    gpu: HardwareSpec
    kv_slots: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int | None
    page_bytes: int
    arrivals: str
    rate_per_s: float | None
    step_time_model: str = "roofline"

    @property
    def is_saturated(self) -> bool:
        """Whether all requests are queued from the start."""
        return self.arrivals == "saturated"

    @property
    def page_tokens(self) -> int:
        """Tokens whose K (or V) of one layer fit a page of the `virtual` allocator."""
        model = self.model
        token_bytes = model.num_kv_heads * model.head_dim * model.kv_bytes_per_value
        return self.page_bytes // token_bytes

    @property
    def recorded_model(self) -> RecordedModel:
        """What a recording says of the model."""
        return recorded_shape(self.model)

    def capacity_slots(self, trial: Trial) -> int:
        """Slots of the pool in whole blocks."""
        return self.kv_slots // trial.block_size * trial.block_size

    def cache_config(self, trial: Trial) -> CacheConfig:
        """Configure the pool of one run. Raises ConfigError if a page is below a block."""
        blocks_per_page = self.page_tokens // trial.block_size
        if trial.allocator == "virtual" and blocks_per_page < 1:
            raise ConfigError(
                f"a page of {self.page_bytes // 1024} KiB holds {self.page_tokens} tokens of"
                f" {self.model.name}, less than one block of {trial.block_size};"
                " raise --page-kib or lower --block-size"
            )
        return CacheConfig(
            num_blocks=self.kv_slots // trial.block_size,
            block_size=trial.block_size,
            max_model_len=self.max_model_len,
            allocator=trial.allocator,
            watermark=trial.watermark,
            blocks_per_page=max(blocks_per_page, 1),
        )

    def scheduler_config(self, trial: Trial) -> SchedulerConfig:
        """Configure the scheduler of one run."""
        return SchedulerConfig(
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.max_num_batched_tokens,
            batching=ALLOCATORS[trial.allocator].batching,
        )

    def step_time(self) -> StepTime:
        """Model the time of a step."""
        if self.step_time_model == "uniform":
            return UNIFORM_STEP
        return RooflineStepTime(self.model, self.gpu)

    def require_room(self, trial: Trial) -> None:
        """Raise ConfigError unless a request of the longest length fits an empty pool."""
        if trial.block_size > self.kv_slots:
            raise ConfigError(
                f"a block of {trial.block_size} slots is larger than the pool of"
                f" {self.kv_slots}; lower --block-size or raise --kv-slots"
            )
        if self.capacity_slots(trial) < self.max_model_len:
            raise ConfigError(
                f"the pool of {self.capacity_slots(trial)} slots is smaller than one request"
                f" of up to {self.max_model_len} tokens; raise --kv-slots or lower"
                " --max-model-len"
            )
        config = self.cache_config(trial)
        if trial.allocator == "virtual" and config.blocks_per_page > config.num_blocks:
            raise ConfigError(
                f"virtual: a page of {self.page_bytes // 1024} KiB holds {self.page_tokens} tokens"
                f" of {self.model.name}, more than the pool of {config.capacity_slots} slots;"
                " lower --page-kib or raise --kv-slots"
            )
        allocator = make_allocator(config, max_rows=self.max_num_seqs)
        longest = self.max_model_len
        demand = Demand(num_tokens=longest, max_tokens=longest, final_tokens=longest)
        refusal = allocator.refusal(demand)
        if refusal is not None:
            raise ConfigError(f"{trial.allocator}: {refusal}")
