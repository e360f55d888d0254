"""The thread pool: every item once, whoever computes it, in children of a fork too."""

from __future__ import annotations

import os
import threading
from ctypes import c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from paged.kernel.backends.host import HostConfig, load_host
from paged.kernel.backends.host_layers import HostLayers

NUM_THREADS = (1, 2, 3, 8)


def probe(num_threads: int) -> Any:
    """Return a function that computes one sum for each thread: equal ones."""
    host = load_host(HostConfig())
    function = host.function("paged_host_probe_flops", c_int64, c_void_p, c_int)

    def run(num_rounds: int) -> np.ndarray:
        sums = np.full(num_threads + 1, -1.0, np.float32)
        function(num_rounds, sums.ctypes.data, num_threads)
        return sums

    return run


def is_right(sums: np.ndarray) -> bool:
    """Say whether each item was computed, and nothing past the last."""
    return bool((sums[:-1] == sums[0]).all() and sums[0] > 0 and sums[-1] == -1)


@pytest.mark.parametrize("num_threads", NUM_THREADS)
def test_every_item_is_computed(num_threads: int) -> None:
    run = probe(num_threads)
    assert all(is_right(run(num_rounds)) for num_rounds in (1, 10_000) for _ in range(200))


@pytest.mark.parametrize("num_threads", NUM_THREADS)
@pytest.mark.parametrize("num_bytes", [1, 1 << 15, (1 << 15) + 1, 300_007, 1 << 20])
def test_chunks_of_any_number_of_items_cover_them(num_bytes: int, num_threads: int) -> None:
    layers = HostLayers(load_host(HostConfig(num_threads=num_threads)))
    source = torch.randint(1, 128, (num_bytes,), dtype=torch.uint8)
    target = torch.zeros(num_bytes + 1, dtype=torch.uint8)
    for _ in range(20):
        layers.copy(source, target[:-1])
        assert torch.equal(target[:-1], source)
        assert target[-1] == 0
        target.zero_()


def test_callers_on_several_threads_do_not_disturb_each_other() -> None:
    run = probe(2)
    results: list[bool] = []

    def call() -> None:
        results.extend(is_right(run(100)) for _ in range(500))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 2000


def test_the_child_of_a_fork_has_a_pool_of_its_own() -> None:
    run = probe(4)
    assert is_right(run(1000))
    child = os.fork()
    if child == 0:
        right = all(is_right(run(1000)) for _ in range(100))
        os._exit(0 if right and len(_tasks()) > 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert is_right(run(1000))


def test_a_worker_wakes_elsewhere_than_on_the_cpu_of_its_caller() -> None:
    own, other, *_ = sorted(os.sched_getaffinity(0)) * 2
    if own == other:
        pytest.skip("a worker has nowhere to go on one CPU")
    run = probe(2)
    child = os.fork()
    if child == 0:
        os._exit(0 if _is_worker_elsewhere(run, own, other) else 1)
    assert os.waitpid(child, 0)[1] == 0


def _is_worker_elsewhere(run: Any, own: int, other: int) -> bool:
    """Wake the only worker where it may only run beside the caller, then where it may leave.

    The system may move it too, but does not as often.
    """
    os.sched_setaffinity(0, {own})
    run(1000)
    (worker,) = _tasks() - {threading.get_native_id()}
    num_elsewhere = 0
    for _ in range(40):
        for allowed in ({own}, {own, other}):
            os.sched_setaffinity(worker, allowed)
            if not is_right(run(500_000)):
                return False
            threading.Event().wait(0.005)
        num_elsewhere += _last_cpu(worker) == other
    return num_elsewhere >= 20 and os.sched_getaffinity(worker) == {other}


def _tasks() -> set[int]:
    return {int(task) for task in os.listdir("/proc/self/task")}


def _last_cpu(task: int) -> int:
    """Read field 39 of a thread's state: the second has blanks and ends in a parenthesis."""
    return int(Path(f"/proc/self/task/{task}/stat").read_text().rpartition(")")[2].split()[36])


def test_idle_workers_sleep() -> None:
    run = probe(2)
    run(1000)
    before_s = sum(os.times()[:2])
    threading.Event().wait(0.3)
    # careful: a bound on time used, not on time passed, so that a loaded machine is no matter
    assert sum(os.times()[:2]) - before_s < 0.1
