"""Failures anywhere in a step end its own requests, and no block is ever lost."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paged.engine.request_stream import RequestStream, SequenceStream
from paged.scheduler.batch import Batch, Finished
from paged.scheduler.request import Request
from paged.scheduler.request_state import RequestState
from tests.helpers.random_traffic import Traffic

ARMS: dict[str, dict[str, Any]] = {
    "paged": {},
    "paged-chunked": {"max_num_batched_tokens": 9},
    "paged-swap": {"preemption": "swap", "num_host_blocks": 12},
    "paged-windows": {"windows": (8, 8), "max_num_batched_tokens": 9, "num_blocks": 14},
    "paged-groups": {"windows": (8, None), "max_num_batched_tokens": 9},
    "paged-groups-swap": {"windows": (None, 8), "preemption": "swap", "num_host_blocks": 12},
    "reserved-pow2": {"allocator": "reserved-pow2", "num_blocks": 96},
    "static": {"allocator": "static", "num_blocks": 96},
    "virtual": {"allocator": "virtual"},
}


@pytest.mark.parametrize("arm", ARMS)
def test_random_traffic_with_failures_leaves_nothing_behind(
    arm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    traffic = Traffic(1, failure_rate=0.05, **ARMS[arm])
    traffic.run(150, monkeypatch)
    assert traffic.num_failures > 3
    for reason in ("error", "abort", "length", "stop"):
        assert traffic.ended[reason] > 0, traffic.ended
    if arm.startswith("paged"):
        assert traffic.log.count("num_preempted")
    if arm.endswith("swap"):
        assert traffic.log.count("swap_in")


@pytest.mark.slow
@pytest.mark.soak
def test_ten_thousand_requests_leave_memory_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic(2, failure_rate=0.02, preemption="swap", num_host_blocks=12)
    sizes: list[int] = []
    for num_requests in range(1_000, 11_000, 1_000):
        traffic.run(num_requests, monkeypatch)
        traffic.log.batches.clear()
        gc.collect()
        sizes.append(_resident_bytes())
        assert _num_kept() <= 30, "what requests were made of is still there"
    assert traffic.num_added >= 10_000
    assert min(traffic.ended[name] for name in ("error", "abort", "length", "stop")) > 100
    growth_bytes = float(np.polyfit(range(1, 10), sizes[1:], 1)[0]) / 1_000
    # Bounded tables of kernels fill up all the while, at some hundred bytes a request.
    assert growth_bytes < 2_000, sizes


def _num_kept() -> int:
    """Count requests and what belongs to one; each of six rows may keep five of its latest."""
    kinds = {Request, RequestState, RequestStream, SequenceStream, Batch, Finished}
    return sum(type(each) in kinds for each in gc.get_objects())


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
