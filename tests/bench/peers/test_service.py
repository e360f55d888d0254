"""What a worker answers."""

from __future__ import annotations

import pytest

from bench.peers.service import Service


class Counter:
    def __init__(self, model: str, threads: int) -> None:
        self.name = f"{model} on {threads}"

    def versions(self) -> dict[str, str]:
        return {"counter": self.name}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        assert len(prompts) == len(output_tokens)
        return sum(output_tokens)

    def op_floor(self) -> dict[str, float]:
        return {"read_s": 0.5}


def test_it_opens_times_rounds_and_passes_the_rest_on() -> None:
    service = Service(Counter)
    assert service.answer("open", {"model": "m", "threads": 2}) == {"counter": "m on 2"}
    answer = service.answer("round", {"prompts": [[1], [2]], "output_tokens": [3, 4]})
    assert answer["num_drawn"] == 7
    assert answer["seconds"] > 0
    assert service.answer("floor", {}) == {"read_s": 0.5}


def test_an_unknown_operation_is_an_error() -> None:
    with pytest.raises(AttributeError, match="op_dance"):
        Service(Counter).answer("dance", {})
