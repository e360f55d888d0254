"""Configuration: frozen, validated once, passed explicitly."""

from __future__ import annotations

from dataclasses import dataclass

from paged.errors import ConfigError
from paged.field_checks import Limits, check_integers

POLICIES = ("fcfs", "priority")
BATCHINGS = ("continuous", "static")
PREEMPTIONS = ("recompute", "swap")
EVICTIONS = ("lru", "lfu")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    _require(value in choices, f"{name} must be one of {', '.join(choices)}, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The pool of one KV group: layers that keep the same tokens.

    num_blocks, num_host_blocks: as for `CacheConfig`, of this group alone.
    window: keys that a token sees, its own included; None sees all.
    """

    num_blocks: int
    window: int | None = None
    num_host_blocks: int = 0

    def __post_init__(self) -> None:
        limits: Limits = {
            "num_blocks": (1, None),
            "num_host_blocks": (0, None),
            "window": (1, None),
        }
        check_integers(self, limits, optional=("window",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """The KV pool and the policy that hands it out.

    num_blocks: physical blocks; a pool of S slots has S // block_size of them. With groups,
        the sum of theirs.
    block_size: slots per block.
    max_model_len: most tokens one sequence may come to.
    eviction: which cached block nobody holds goes first (paged).
    watermark: share of the blocks kept free when a request is admitted (paged).
    num_host_blocks: blocks of host memory for swapped sequences (paged). With groups, the
        sum of theirs.
    blocks_per_page: blocks in one physical page (virtual).
    groups: pools of the model's KV groups, each with block tables of its own (paged). None:
        one block table serves all groups, and no block is given up for having left a window.
    max_step_tokens: most tokens that are computed in one step, `max_num_batched_tokens` of
        the scheduler; a group with a window holds few blocks where it is known.
    """

    num_blocks: int
    block_size: int = 16
    max_model_len: int = 2048
    allocator: str = "paged"
    watermark: float = 0.01
    enable_prefix_caching: bool = False
    eviction: str = "lru"
    num_host_blocks: int = 0
    blocks_per_page: int = 1
    groups: tuple[GroupConfig, ...] | None = None
    max_step_tokens: int | None = None

    def __post_init__(self) -> None:
        sizes = ("num_blocks", "block_size", "max_model_len", "blocks_per_page", "max_step_tokens")
        limits: Limits = {**dict.fromkeys(sizes, (1, None)), "num_host_blocks": (0, None)}
        check_integers(self, limits, optional=("max_step_tokens",))
        _require(
            0.0 <= self.watermark < 1.0,
            f"watermark is a share of the pool, 0 <= watermark < 1, got {self.watermark}",
        )
        _require_choice("eviction", self.eviction, EVICTIONS)
        if self.groups is not None:
            self._check_groups(self.groups)

    def _check_groups(self, groups: tuple[GroupConfig, ...]) -> None:
        _require(bool(groups), "groups must name one pool at least, or be None")
        _require(
            self.allocator == "paged",
            f"groups need the allocator paged, got {self.allocator}; one block table serves all"
            " groups of other allocators",
        )
        for name in ("num_blocks", "num_host_blocks"):
            total = sum(getattr(group, name) for group in groups)
            _require(
                getattr(self, name) == total,
                f"{name} must be that of all groups, {total}, got {getattr(self, name)}",
            )

    @property
    def pools(self) -> tuple[GroupConfig, ...]:
        """Pools that have block tables of their own."""
        if self.groups is not None:
            return self.groups
        return (GroupConfig(num_blocks=self.num_blocks, num_host_blocks=self.num_host_blocks),)

    @property
    def capacity_slots(self) -> int:
        """Slots of the whole pool."""
        return self.num_blocks * self.block_size


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """Who runs in the next step.

    max_num_seqs: most sequences that hold memory at once.
    max_num_batched_tokens: token budget of one step; None means no limit, so that
        every admitted prompt is computed in one step.
    lookahead: requests behind a head that does not fit which may be tried instead.
    """

    max_num_seqs: int = 256
    max_num_batched_tokens: int | None = 2048
    policy: str = "fcfs"
    batching: str = "continuous"
    preemption: str = "recompute"
    lookahead: int = 0

    def __post_init__(self) -> None:
        limits: Limits = {
            **dict.fromkeys(("max_num_seqs", "max_num_batched_tokens"), (1, None)),
            "lookahead": (0, None),
        }
        check_integers(self, limits, optional=("max_num_batched_tokens",))
        _require_choice("policy", self.policy, POLICIES)
        _require_choice("batching", self.batching, BATCHINGS)
        _require_choice("preemption", self.preemption, PREEMPTIONS)
