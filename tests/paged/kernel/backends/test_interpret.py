"""The interpreter as a backend: configurations, builds and empty grids."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from paged.errors import BackendUnavailable, ConfigError
from paged.kernel.backends.interpret import MAX_WORKERS, InterpretBackend, InterpretConfig
from paged.kernel.backends.server import Server
from paged.kernel.backends.structures import Answer, Order
from paged.kernel.source import KernelSource
from tests.helpers.interpreted import Passed, launch, program, updated


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"poison": 256}, "poison must be a byte, 0 to 255, got 256"),
        ({"timeout_s": 0.0}, "timeout_s must be above 0, got 0.0"),
        ({"num_workers": 0}, "num_workers must be 1 to 16, got 0"),
        ({"num_workers": 1000}, "num_workers must be 1 to 16, got 1000"),
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        InterpretConfig(**setting)


def test_settings_are_decided() -> None:
    natural = InterpretConfig().settings
    assert not natural.is_seeded
    assert natural.num_workers >= 1
    seeded = InterpretConfig(seed=-1, num_workers=3).settings
    assert seeded.is_seeded
    assert seeded.seed == (1 << 64) - 1
    assert seeded.num_workers == 3


def test_an_empty_grid_runs_nothing() -> None:
    out = torch.full((4,), 5, dtype=torch.int32)
    launch(program("memory.cu"), "keep_even", grid=(3, 0), out=Passed(out, "out"), n=4)
    assert out.tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize(("grid", "num_workers"), [(1, 1), (3, 3), (40, MAX_WORKERS)])
def test_no_more_workers_are_prepared_than_there_are_blocks(
    monkeypatch: pytest.MonkeyPatch, grid: int, num_workers: int
) -> None:
    prepared: list[int] = []
    run = Server.run

    def watch(self: Server, order: bytes, timeout_s: float) -> Answer:
        prepared.append(Order.from_buffer_copy(order).num_workers)
        return run(self, order, timeout_s)

    monkeypatch.setattr(Server, "run", watch)
    out = torch.zeros(4)
    built = program("memory.cu", InterpretConfig(num_workers=MAX_WORKERS))
    launch(built, "keep_even", grid=grid, block=1024, out=updated(out), n=4)
    assert prepared == [num_workers]
    assert out.tolist() == [0.0, 0.0, 2.0, 0.0]


def test_without_a_compiler_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "absent-compiler")
    source = KernelSource(name="k", text="__global__ void k() {}", entries=("k",))
    with pytest.raises(BackendUnavailable):
        InterpretBackend(InterpretConfig()).build(source)


@pytest.mark.parametrize("optimize", ["-O1", "-O2"])
def test_both_efforts_give_one_result(optimize: Any) -> None:
    out = torch.zeros(32, dtype=torch.int32)
    built = program("warps.cu", InterpretConfig(optimize=optimize))
    launch(built, "partial_masks", out=updated(out))
    assert out.sum() == sum(sum(range(g, 32, 4)) * 8**g * 8 for g in range(4))


@pytest.mark.parametrize("isolate", [True, False])
def test_threads_may_launch_at_once(isolate: bool) -> None:
    built = program("memory.cu", InterpretConfig(isolate=isolate))

    def one(_: int) -> list[float]:
        out = torch.zeros(32)
        launch(built, "keep_even", out=updated(out), n=32)
        return out.tolist()

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(one, range(40)))
    assert all(result == [i if i % 2 == 0 else 0 for i in range(32)] for result in results)


def test_results_in_natural_order_do_not_depend_on_the_number_of_workers() -> None:
    results: set[bytes] = set()
    for num_workers in (1, 2, 5):
        out = torch.zeros(6, 6, 6, dtype=torch.int32)
        built = program(
            "blocks.cu",
            InterpretConfig(num_workers=num_workers),
            templates=("transpose<4, int>", "transpose<8, short>"),
        )
        launch(built, "indices", grid=6, block=6, out=Passed(out, "out"))
        results.add(out.numpy().tobytes())
    assert len(results) == 1
