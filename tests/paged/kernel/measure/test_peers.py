"""Each operation has peers, and those that cannot serve say why."""

from __future__ import annotations

import pytest
import torch

from paged.kernel.measure.candidate import Unserved
from paged.kernel.measure.peers import FLEX_WORKLOADS, peers_of
from paged.kernel.measure.workloads import Workload, workloads_of
from paged.kernel.registry import OP_NAMES
from tests.helpers.measured import CPU, WORKLOAD

CUDA = torch.device("cuda")


@pytest.mark.parametrize("op", OP_NAMES)
def test_every_operation_has_a_peer(op: str) -> None:
    for workload in workloads_of(op, CPU).values():
        peers = peers_of(workload, CPU)
        assert peers
        assert all(peer.is_peer for peer in peers)


def test_attention_on_a_gpu_has_all_peers() -> None:
    names = [peer.name for peer in peers_of(WORKLOAD, CUDA)]
    assert names == ["sdpa", "gather+sdpa", "flex_attention", "triton", "pallas", "flashinfer"]


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_flex_attention_says_why_it_is_left_out(device: torch.device) -> None:
    flex = next(p for p in peers_of(WORKLOAD, device) if p.name == "flex_attention")
    with pytest.raises(Unserved, match="compile"):
        flex.prepare(WORKLOAD.build(CPU, 1))


def test_flex_attention_is_compiled_for_workloads_that_exist() -> None:
    known = workloads_of("attention", CUDA)
    for name in FLEX_WORKLOADS:
        workload: Workload = known[name]
        assert any(p.name == "flex_attention" for p in peers_of(workload, CUDA))
