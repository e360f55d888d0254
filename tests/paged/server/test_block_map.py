"""The block map as JSON: what its fields say of a small engine."""

from __future__ import annotations

import json
from typing import Any

from paged.server.block_map import block_map
from paged.server.watch import Watch
from tests.helpers.toy_engine import ToyEngine, make_toy_engine


def _watched(**values: Any) -> tuple[ToyEngine, Watch]:
    toy, watch = make_toy_engine(**values), Watch(kernels={"op": "variant"}, token_bytes=1 << 18)
    toy.engine.observers = (*toy.engine.observers, watch)
    return toy, watch


def _map(toy: ToyEngine, watch: Watch) -> dict[str, Any]:
    """Return the map as a client reads it: no NaN, and nothing of numpy."""
    made = block_map(watch.report(toy.engine), model_name="tiny")
    return json.loads(json.dumps(made, allow_nan=False))


def test_an_idle_engine_has_a_map_too() -> None:
    found = _map(*_watched(num_blocks=8))
    assert found["counts"] == {"held": 0, "shared": 0, "cached": 0, "free": 8}
    assert found["latencies"]["time_to_first_token_s"] == {
        **{"count": 0, "sum": 0.0},
        **{"p50": None, "p99": None},
    }
    assert (found["requests"], found["copies"]) == ([], [])


def test_a_copy_on_write_is_seen_in_tables_and_copies() -> None:
    toy, watch = _watched(num_blocks=8)
    toy.add("a", [1] * 6, num_new=5, num_sequences=2)
    toy.step()
    toy.step()
    found = _map(toy, watch)
    (request,) = found["requests"]
    assert (request["id"], request["status"]) == ("a", "running")
    tables = [sequence["tables"][0]["blocks"] for sequence in request["sequences"]]
    assert found["copies"] == [{"step": 1, "pool": None, "from": 1, "to": 2}]
    assert sorted(tables) == [[0, 1], [0, 2]]
    assert found["pools"][0]["references"] == [2, 1, 1, 0, 0, 0, 0, 0]
    assert found["totals"]["copied_blocks"] == 1
    assert sum(found["slots"].values()) == found["num_blocks"] * found["block_size"]


def test_blocks_on_the_host_have_no_number() -> None:
    toy, watch = _watched(num_blocks=6, preemption="swap", num_host_blocks=6)
    for name in "ab":
        toy.add(name, [ord(name)] * 4, num_new=16)
    while not any(batch.num_preempted for batch in toy.batches):
        toy.step()
    found = _map(toy, watch)
    assert found["statuses"] == {"running": 1, "waiting": 0, "preempted": 0, "swapped": 1}
    (sequence,) = found["requests"][1]["sequences"]
    assert set(sequence["tables"][0]["blocks"]) == {None}


def test_shadows_and_kernels_are_told() -> None:
    toy, watch = _watched(num_blocks=8, max_model_len=32)
    toy.add("a", [1] * 6)
    toy.step()
    found = _map(toy, watch)
    assert found["kernels"] == {"op": "variant"}
    longest = found["shadows"][0]
    assert (longest["allocator"], longest["num_held"], longest["capacity"]) == (
        "reserved-max",
        1,
        32,
    )
    assert longest["slots"]["granted_unused"] == 32 - 6
