"""Hand-made records: runs whose every number is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from experiments.sim.record import CLASSES, REQUEST_COLUMNS, STEP_COLUMNS, HoleSamples, RunRecord

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def make_record() -> MakeRecord:
    """Build a record of a pool of 100 slots from the columns that matter to a test.

    Steps default to 1 s each, one running request and an all-free pool; classes that are
    given take their slots from `free`.
    """

    def make(
        num_steps: int,
        *,
        requests: dict[str, list[float]] | None = None,
        holes: HoleSamples | None = None,
        **given: list[float],
    ) -> RunRecord:
        steps = {name: np.zeros(num_steps) for name in STEP_COLUMNS}
        steps["duration_s"] = np.ones(num_steps)
        steps["running"] = np.ones(num_steps)
        steps |= {name: np.array(values, np.float64) for name, values in given.items()}
        steps["start_s"] = np.cumsum(steps["duration_s"]) - steps["duration_s"]
        used = np.sum([steps[name] for name in CLASSES if name != "free"], axis=0)
        steps["free"] = 100.0 - used
        columns = {name: np.zeros(0) for name in REQUEST_COLUMNS}
        columns |= {name: np.array(values) for name, values in (requests or {}).items()}
        return RunRecord(
            capacity_slots=100, block_size=4, steps=steps, requests=columns, holes=holes
        )

    return make
