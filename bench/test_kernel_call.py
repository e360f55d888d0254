"""Host time of a kernel's call, all but the driver's, beside floors that torch sets.

The operands lie on the CPU and the driver does nothing, so that Python and torch alone are timed,
in processor time of the process. The floors: allocating the outputs, dispatching our operator
to an implementation that does nothing, and an operator of torch with as many arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from bench.compare import Comparison, Contestant, Rival, race
from bench.report import Collected
from paged.errors import BackendUnavailable
from paged.kernel import call, kernel_call
from paged.kernel.backends.cuda import CudaBackend
from paged.kernel.binding import bind, returned
from paged.kernel.launch import LaunchRequest
from paged.kernel.operator import define_operator
from paged.kernel.ops.problems import problems_of
from paged.kernel.problem import Problem
from paged.kernel.registry import ops
from paged.kernel.toolkit import find_toolkit
from paged.kernel.variant import Variant, find_variant

CALLS_PER_ROUND = 20
NUM_CHUNKS = 5
ROUNDS_PER_CHUNK = 40
GOAL_US = 30.0
SHARED_BYTES = 227 * 1024


class NullDriver:
    """A device of compute capability 9.0 on which nothing happens."""

    errors: tuple[type[Exception], ...] = ()

    def current_device(self) -> int:
        return 0

    def on_device(self, device: int) -> AbstractContextManager[object]:
        return nullcontext()

    def bind(self, device: int) -> None:
        pass

    def capability(self, device: int) -> tuple[int, int]:
        return 9, 0

    def max_shared_bytes(self, device: int) -> int:
        return SHARED_BYTES

    def load(self, path: Path) -> object:
        return path

    def function(self, module: object, symbol: str) -> int:
        return 0

    def allow_shared(self, function: int, num_bytes: int) -> None:
        pass

    def current_stream(self, device: int) -> int:
        return 0

    def launch(self, function: int, request: LaunchRequest, stream: int, parameters: int) -> None:
        pass

    def write(self, module: object, symbol: str, data: bytes, stream: int) -> None:
        pass

    def copy(self, module: object, symbol: str, source: int, num_bytes: int, stream: int) -> None:
        pass

    def read(self, module: object, symbol: str, num_bytes: int, stream: int) -> bytes:
        return bytes(num_bytes)


@pytest.fixture
def null_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all calls go to the cuda backend, with a driver that does nothing."""
    try:
        find_toolkit()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    backend = CudaBackend(driver=NullDriver())
    monkeypatch.setattr(call, "backend_for", lambda *_: backend)


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library("paged_bench", "FRAGMENT") as scoped:
        yield scoped


def times(run: Callable[[], object]) -> Rival:
    """Return a rival that runs something as often a round as we do, in processor time."""

    def rounds_us(num_rounds: int) -> list[float]:
        taken_us: list[float] = []
        for _ in range(num_rounds):
            before_s = process_time()
            for _ in range(CALLS_PER_ROUND):
                run()
            taken_us.append(1e6 * (process_time() - before_s))
        return taken_us

    return rounds_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """What no call of a kernel through torch can do without."""

    variant: Variant
    problem: Problem
    library: torch.library.Library

    def rivals(self) -> dict[str, Rival]:
        return {
            "outputs": times(self._allocation()),
            "operator": times(self._operator()),
            "torch operator": times(self._torch_operator()),
        }

    def _allocation(self) -> Callable[[], object]:
        """Allocate the outputs and workspaces."""
        spec = self.variant.spec
        bound = bind(spec, self.problem.operands, self.problem.numbers)
        found = [bound.tensors[o.name] for o in spec.operands if not o.is_given]
        shapes = [(t.shape, t.dtype, t.device) for t in found if t is not None]
        return lambda: [torch.empty(s, dtype=dtype, device=at) for s, dtype, at in shapes]

    def _operator(self) -> Callable[[], object]:
        """Go through torch's dispatcher by our schema, to return outputs made before."""
        spec = self.variant.spec
        outputs = bind(spec, self.problem.operands, self.problem.numbers).outputs
        operator = define_operator(self.library, spec, lambda *_, **__: returned(outputs))
        return lambda: operator(*self.problem.operands, **self.problem.numbers)

    def _torch_operator(self) -> Callable[[], object]:
        """Normalise one number: five tensors and three numbers go in, three tensors come out."""
        one, flat = torch.ones(1, 1), torch.ones(1)
        normalise: Any = torch.ops.aten.native_batch_norm.default
        return lambda: normalise(one, flat, flat, flat, flat, False, 0.1, 1e-5)


@pytest.mark.benchmark(timer=process_time)
@pytest.mark.usefixtures("null_gpu")
@pytest.mark.parametrize(
    ("op", "variant"),
    [("attention", "v0"), ("attention", "v2"), ("write_kv", "vector")],
)
def test_kernel_call(
    op: str,
    variant: str,
    library: torch.library.Library,
    benchmark: BenchmarkFixture,
    collected: Collected,
) -> None:
    found = find_variant(ops()[op], variant)
    problem = next(
        p for p in problems_of(found.op) if all(t is None or t.numel() for t in p.operands)
    )

    numbers: dict[str, Any] = dict(problem.numbers)

    def calls(_: None) -> None:
        for _call in range(CALLS_PER_ROUND):
            kernel_call(found.spec, *problem.operands, **numbers)

    raced = race(
        benchmark,
        Contestant(prepare=lambda: None, run=calls, work_per_round=CALLS_PER_ROUND),
        Floors(variant=found, problem=problem, library=library).rivals(),
        num_chunks=NUM_CHUNKS,
        rounds_per_chunk=ROUNDS_PER_CHUNK,
    )
    if raced is not None:
        ours, rivals = raced
        collected.keep(
            benchmark, Comparison(unit="call", ours=ours, rivals=rivals, goal_us=GOAL_US)
        )
