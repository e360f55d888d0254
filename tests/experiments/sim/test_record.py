"""Records."""

from __future__ import annotations

import numpy as np

from experiments.sim.record import HoleSamples


def test_a_sample_gets_the_weight_of_the_steps_up_to_the_next():
    samples = HoleSamples(step=np.array([0, 2, 5]), index=np.zeros(3), counts=np.zeros((3, 1)))
    weights = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    assert samples.weigh(weights).tolist() == [3.0, 28.0, 96.0]
