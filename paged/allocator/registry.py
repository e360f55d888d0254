"""Allocation policies by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paged.allocator.address_space import AddressSpace
from paged.allocator.base import Allocator
from paged.allocator.buddy import BuddySpace
from paged.allocator.fit import BestFitSpace, FirstFitSpace
from paged.allocator.grouped import GroupedAllocator
from paged.allocator.paged import PagedAllocator
from paged.allocator.reserved import (
    ReservationPolicy,
    ReservedAllocator,
    reserve_max,
    reserve_oracle,
    reserve_pow2,
)
from paged.allocator.virtual import VirtualAllocator
from paged.config import CacheConfig
from paged.errors import ConfigError

AllocatorFactory = Callable[[CacheConfig, int], Allocator]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorKind:
    """A policy that can be chosen by name.

    batching: how the scheduler must batch with it ("continuous" or "static").
    needs_future: it is told output lengths that no server knows: unreachable in practice.
    build: makes one for a pool and a number of rows.
    """

    name: str
    description: str
    build: AllocatorFactory
    batching: str = "continuous"
    needs_future: bool = False


def _paged(config: CacheConfig, max_rows: int) -> Allocator:
    if len(config.pools) == 1:
        return PagedAllocator(config, max_rows=max_rows)
    return GroupedAllocator(config, max_rows=max_rows)


def _virtual(config: CacheConfig, max_rows: int) -> Allocator:
    return VirtualAllocator(config, max_rows=max_rows)


def _buddy(config: CacheConfig) -> AddressSpace:
    largest = -(-config.max_model_len // config.block_size)
    return BuddySpace(config.num_blocks, max_span_blocks=largest)


def _first_fit(config: CacheConfig) -> AddressSpace:
    return FirstFitSpace(config.num_blocks)


def _best_fit(config: CacheConfig) -> AddressSpace:
    return BestFitSpace(config.num_blocks)


def _reserved(
    policy: ReservationPolicy, space: Callable[[CacheConfig], AddressSpace]
) -> AllocatorFactory:
    def build(config: CacheConfig, max_rows: int) -> Allocator:
        return ReservedAllocator(config, max_rows=max_rows, space=space(config), policy=policy)

    return build


_KINDS = (
    AllocatorKind(
        name="paged",
        description="fixed blocks on demand, shared by reference count, copy-on-write",
        build=_paged,
    ),
    AllocatorKind(
        name="reserved-max",
        description="one contiguous range of max_model_len per sequence, buddy allocator",
        build=_reserved(reserve_max, _buddy),
    ),
    AllocatorKind(
        name="reserved-pow2",
        description="prompt + the output rounded up to a power of two (25 -> 32), buddy allocator",
        build=_reserved(reserve_pow2, _buddy),
        needs_future=True,
    ),
    AllocatorKind(
        name="reserved-oracle",
        description="prompt + true output, buddy allocator",
        build=_reserved(reserve_oracle, _buddy),
        needs_future=True,
    ),
    AllocatorKind(
        name="reserved-oracle-first-fit",
        description="prompt + true output, lowest hole that fits",
        build=_reserved(reserve_oracle, _first_fit),
        needs_future=True,
    ),
    AllocatorKind(
        name="reserved-oracle-best-fit",
        description="prompt + true output, smallest hole that fits",
        build=_reserved(reserve_oracle, _best_fit),
        needs_future=True,
    ),
    AllocatorKind(
        name="static",
        description="reserved-max in batches that run until their slowest sequence ends",
        build=_reserved(reserve_max, _buddy),
        batching="static",
    ),
    AllocatorKind(
        name="virtual",
        description="contiguous virtual range per sequence, physical pages on demand",
        build=_virtual,
    ),
)

ALLOCATORS: dict[str, AllocatorKind] = {kind.name: kind for kind in _KINDS}


def find_allocator(name: str) -> AllocatorKind:
    """Look an allocation policy up. Raises ConfigError, which lists them."""
    kind = ALLOCATORS.get(name)
    if kind is None:
        raise ConfigError(f"unknown allocator {name!r:.40}; choose from {', '.join(ALLOCATORS)}")
    return kind


def make_allocator(config: CacheConfig, *, max_rows: int) -> Allocator:
    """Build the allocator that config names. Raises ConfigError for unknown names."""
    return find_allocator(config.allocator).build(config, max_rows)
