"""Torch's own indexing does what the operations do, or it would not be a peer."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.measure.cache_peers import PEERS
from paged.kernel.measure.candidate import Candidate, Unserved, fault_of
from paged.kernel.measure.workloads import workloads_of
from paged.kernel.ops.problems import problems_of
from paged.kernel.registry import find_op
from tests.helpers.measured import CPU


@pytest.mark.parametrize("op", PEERS)
def test_the_peer_is_right(op: str) -> None:
    name, prepare = PEERS[op]
    workload = workloads_of(op, CPU)["tiny"]
    problems = [workload.build(CPU, seed) for seed in (1, 2)]
    assert fault_of(Candidate(name=name, prepare=prepare, is_peer=True), op, problems) is None


@pytest.mark.parametrize("op", ["write_kv", "gather_kv", "rope_write_kv"])
def test_scales_are_left_out(op: str) -> None:
    scaled = next(p for p in problems_of(find_op(op)) if "scaled" in p.name)
    with pytest.raises(Unserved, match="scales"):
        PEERS[op][1](scaled)


def test_part_rotations_are_left_out() -> None:
    plain = next(p for p in problems_of(find_op("rope_write_kv")) if p.operands[-1] is None)
    with pytest.raises(Unserved, match="whole heads"):
        PEERS["rope_write_kv"][1](plain)


def test_a_write_changes_the_pool_it_was_prepared_for() -> None:
    problem = workloads_of("write_kv", CPU)["tiny"].build(CPU, 1)
    pool = problem.operands[2]
    assert pool is not None
    before = pool.clone()
    PEERS["write_kv"][1](problem)()
    assert not torch.equal(before, pool)
