"""What follows from the costs of loads."""

from __future__ import annotations

import pytest

from bench.serving.cells import LOADS, Cost, overhead


def _costs(**cpu_s: float) -> dict[str, list[Cost]]:
    """Make three rounds of each load, the second of which is what is named."""
    return {
        name: [
            Cost(cpu_s=share * cpu_s[name], seconds=2.0, delays_s=(0.001, 0.002, 0.003))
            for share in (0.5, 1.0, 3.0)
        ]
        for name in LOADS
    }


def test_the_engines_part_and_that_of_requests_are_taken_off() -> None:
    num_requests, num_streams = LOADS["opening"].num_requests, LOADS["stream"].num_requests
    num_tokens = num_streams * (LOADS["stream"].output_tokens - 1)
    engine = _costs(request=1.0, opening=1.0, stream=1.0, flood=1.0)
    server = _costs(
        request=1.0 + num_requests * 300e-6,
        opening=1.0 + num_requests * 400e-6,
        stream=1.0 + num_streams * 400e-6 + num_tokens * 50e-6,
        flood=1.0,
    )
    found = overhead(server, engine)
    assert found.request_us == pytest.approx(300)
    assert found.token_us == pytest.approx(50)
    assert found.tokens_per_s == LOADS["flood"].num_tokens / 2.0
    assert found.delay_ms == pytest.approx(2.0)


def test_a_floor_has_no_engine() -> None:
    costs = _costs(request=LOADS["request"].num_requests * 1e-3, opening=0.0, stream=1.0, flood=1.0)
    assert overhead(costs, None).request_us == pytest.approx(1_000)
