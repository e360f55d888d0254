"""What each shipped kernel's instructions do, held to a budget: wasteful changes fail here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pytest

from paged.kernel.measure.workloads import workloads_of
from paged.kernel.profile import KernelProfile, Tally, profile_kernel
from paged.kernel.registry import OP_NAMES, find_op
from paged.kernel.variant import find_variant, shipped_variants
from tests.helpers.measured import CPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a kernel may do on a workload.

    over_asked: sectors' bytes over those asked for, of reads and copies of global memory.
    wavefronts: over the least; None for a kernel that does not touch shared memory.
    requests: instructions of warps.
    least_in_flight: bytes that a block's asynchronous copies must reach.
    """

    over_asked: float
    wavefronts: float | None
    requests: int
    least_in_flight: int = 0


BUDGETS: dict[tuple[str, str, str], Budget] = {
    ("attention", "tiny", "v0"): Budget(over_asked=5.68, wavefronts=1.02, requests=9792),
    ("attention", "tiny", "v1"): Budget(over_asked=0.87, wavefronts=1.57, requests=4439),
    ("attention", "tiny", "v1g"): Budget(over_asked=0.88, wavefronts=1.68, requests=3627),
    ("attention", "tiny", "v2"): Budget(over_asked=0.63, wavefronts=1.68, requests=4214),
    ("attention", "tiny-prefill", "prefill_naive"): Budget(
        over_asked=0.51, wavefronts=1.77, requests=73635
    ),
    ("attention", "tiny-prefill", "prefill_tiled"): Budget(
        over_asked=0.8, wavefronts=1.02, requests=1523, least_in_flight=14336
    ),
    ("write_kv", "tiny", "simple"): Budget(over_asked=0.43, wavefronts=None, requests=1305),
    ("write_kv", "tiny", "vector"): Budget(over_asked=0.85, wavefronts=None, requests=163),
    ("rope_write_kv", "tiny", "simple"): Budget(over_asked=0.84, wavefronts=None, requests=7572),
    ("rope_write_kv", "tiny", "vector"): Budget(over_asked=0.56, wavefronts=None, requests=1958),
    ("copy_blocks", "tiny", "simple"): Budget(over_asked=0.85, wavefronts=None, requests=2154),
    ("copy_blocks", "tiny", "vector"): Budget(over_asked=0.85, wavefronts=None, requests=326),
    ("swap_blocks", "tiny", "simple"): Budget(over_asked=0.85, wavefronts=None, requests=2154),
    ("swap_blocks", "tiny", "vector"): Budget(over_asked=0.85, wavefronts=None, requests=326),
    ("gather_kv", "tiny", "simple"): Budget(over_asked=0.41, wavefronts=None, requests=2088),
    ("gather_kv", "tiny", "vector"): Budget(over_asked=0.77, wavefronts=None, requests=261),
}
"""By operation, workload and variant: what was counted, and 2 % more."""


@lru_cache(maxsize=32)
def profile_of(op: str, workload: str, variant: str) -> KernelProfile:
    """Profile a shipped kernel."""
    problem = workloads_of(op, CPU)[workload].build(CPU, 1)
    return profile_kernel(find_variant(find_op(op), variant).spec, problem)


@pytest.mark.parametrize(("op", "workload", "variant"), BUDGETS)
def test_a_kernel_keeps_to_its_budget(op: str, workload: str, variant: str) -> None:
    assert not excesses(profile_of(op, workload, variant), BUDGETS[op, workload, variant])


def excesses(profile: KernelProfile, budget: Budget) -> list[str]:
    """Say where a profile is over a budget."""
    classes = profile.classes
    read = Tally.sum(classes[kind] for kind in ("global_read", "async_copy") if kind in classes)
    over_asked, wavefronts = read.bytes_over_asked, profile.wavefronts_over_minimum
    found = {
        "sectors over what is asked for": (over_asked or 0.0) > budget.over_asked,
        "wavefronts over the least": (wavefronts or 0.0) > (budget.wavefronts or 0.0),
        "requests": profile.total.num_requests > budget.requests,
        "bytes in flight": profile.bytes_in_flight < budget.least_in_flight,
    }
    return [name for name, is_over in found.items() if is_over]


def test_every_shipped_kernel_has_a_budget() -> None:
    shipped = {(op, name) for op in OP_NAMES for name in shipped_variants(find_op(op))}
    assert {(op, name) for op, _, name in BUDGETS} == shipped


@pytest.mark.parametrize(
    ("op", "wasteful", "workload", "thrifty", "what"),
    [
        ("copy_blocks", "simple", "tiny", "vector", "requests"),
        ("attention", "v0", "tiny", "v1", "sectors over what is asked for"),
        (
            "attention",
            "prefill_naive",
            "tiny-prefill",
            "prefill_tiled",
            "wavefronts over the least",
        ),
        ("attention", "prefill_naive", "tiny-prefill", "prefill_tiled", "bytes in flight"),
    ],
)
def test_a_wasteful_kernel_is_over_the_budget_of_another(
    op: str, wasteful: str, workload: str, thrifty: str, what: str
) -> None:
    assert what in excesses(profile_of(op, workload, wasteful), BUDGETS[op, workload, thrifty])


def test_keys_and_values_are_read_by_whole_sectors_once() -> None:
    """Reads of keys and values use each byte of a sector, by one line of the source alone."""
    profile = profile_of("attention", "tiny", "v1g")
    (line,) = (each for each in profile.lines if each.tally.num_sectors * 32 >= 65_536)
    assert (line.file, line.kind) == ("key_streams.cuh", "global_read")
    assert line.tally.bytes_over_asked == 1.0
    assert line.tally.num_sectors * 32 == 65_536
