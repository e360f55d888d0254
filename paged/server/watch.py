"""Everything that the server shows of its engine, behind one observer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from paged.allocator.block_table import BlockTables
from paged.engine.engine import Engine
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel
from paged.engine.usage_meter import UsageMeter
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from paged.server.kernels import kernels_of
from paged.server.meter import Measured, StepMeter
from paged.server.shadow import SHADOWS, Shadows, ShadowState
from paged.server.snapshot import Snapshot, take_snapshot

PAGE_BYTES = 2 << 20
"""Physical page of the `virtual` shadow, for one layer's K or V: what CUDA's driver maps."""

# To ask where all slots are costs as much as the scheduler's step, where blocks are shared.
_STEPS_PER_SAMPLE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is known of an engine between two steps.

    slot_seconds: time that slots spent in each class. shadows: none where nobody wants any, or
        where the model's KV groups have pools of their own, which no other policy serves.
    kernels: what serves each operation.
    """

    snapshot: Snapshot
    measured: Measured
    slot_seconds: dict[str, float]
    shadows: tuple[ShadowState, ...]
    kernels: Mapping[str, str]


class Watch:
    """Observer of one engine, or of those that take its place one after the other.

    Totals begin again with each engine. Its methods are for the engine's thread.
    kernels: what serves each operation. token_bytes: K or V of a token in one layer.
    shadows: policies that follow the traffic, of `SHADOWS`.
    """

    def __init__(
        self, *, kernels: Mapping[str, str], token_bytes: int, shadows: Sequence[str] = SHADOWS
    ) -> None:
        self._kernels = kernels
        self._token_bytes = token_bytes
        self._shadows = shadows
        self._watched: _Watched | None = None

    def report(self, engine: Engine) -> Report:
        """Say all that is known now. O(blocks); not during a step."""
        watched = self._of(engine.scheduler)
        return Report(
            snapshot=take_snapshot(engine),
            measured=watched.meter.measured(),
            slot_seconds=watched.usage.slot_seconds(),
            shadows=() if watched.shadows is None else watched.shadows.states(),
            kernels=self._kernels,
        )

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """See a step."""
        for observer in self._of(scheduler).observers:
            observer.on_step(start_s=start_s, batch=batch, result=result, scheduler=scheduler)

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """See a sequence end."""
        if self._watched is not None:
            for observer in self._watched.observers:
                observer.on_finished(finished, now_s=now_s)

    def _of(self, scheduler: Scheduler) -> _Watched:
        if self._watched is None or self._watched.scheduler is not scheduler:
            self._watched = _Watched(scheduler, self._token_bytes, self._shadows)
        return self._watched


class _Watched:
    """What observes one engine."""

    def __init__(self, scheduler: Scheduler, token_bytes: int, shadows: Sequence[str]) -> None:
        self.scheduler = scheduler
        allocator = scheduler.allocator
        max_rows = allocator.tables.max_rows
        has_prefix_cache = allocator.prefix_keys(np.zeros(0, np.int32)) is not None
        self.meter = StepMeter(max_rows, has_prefix_cache=has_prefix_cache)
        self.usage = UsageMeter(max_rows, sample_every=_STEPS_PER_SAMPLE)
        self.shadows: Shadows | None = None
        if shadows and len(allocator.group_tables) == 1:
            self.shadows = Shadows(
                allocator.tables,
                num_blocks=allocator.num_blocks,
                blocks_per_page=_blocks_per_page(allocator.tables, token_bytes),
                names=shadows,
            )
        self.observers = (self.meter, self.usage, *([self.shadows] if self.shadows else []))


def _blocks_per_page(tables: BlockTables, token_bytes: int) -> int:
    """Blocks of a page, which holds no more than the longest sequence."""
    num_blocks = PAGE_BYTES // (token_bytes * tables.block_size)
    return min(max(1, num_blocks), tables.max_blocks_per_row)


def watch_of(options: LLMConfig, model: LoadedModel, shadows: Sequence[str] = SHADOWS) -> Watch:
    """Make a watch for the engines of one model. shadows: as for `Watch`."""
    config = model.config
    return Watch(
        kernels=kernels_of(options, is_gpu=model.device.type == "cuda"),
        token_bytes=config.num_kv_heads * config.head_dim * model.kv_dtype.itemsize,
        shadows=shadows,
    )
