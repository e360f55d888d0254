"""What kernels are compared with: other ways to serve the same workload, in the same run."""

from __future__ import annotations

import torch

from paged.kernel.measure.attention_peers import flex_attention, gather_sdpa, sdpa
from paged.kernel.measure.cache_peers import PEERS as CACHE_PEERS
from paged.kernel.measure.candidate import Call, Candidate, Unserved
from paged.kernel.measure.outside_peers import flashinfer, pallas, triton
from paged.kernel.measure.workloads import Workload
from paged.kernel.problem import Problem

FLEX_WORKLOADS = ("b8-s4k", "b64-s1k", "prefill-2k")
"""flex_attention is compiled for each shape anew."""


def peers_of(workload: Workload, device: torch.device) -> list[Candidate]:
    """Return the peers of a workload; those that cannot serve it say why when prepared."""
    if workload.op != "attention":
        name, prepare = CACHE_PEERS[workload.op]
        return [Candidate(name=name, prepare=prepare, is_peer=True)]
    found = [
        Candidate(name="sdpa", prepare=sdpa, is_peer=True),
        Candidate(name="gather+sdpa", prepare=gather_sdpa, is_peer=True),
    ]
    if device.type != "cuda":
        reason = "it takes a minute to compile for a CPU"
        return [*found, unavailable("flex_attention", reason)]
    if workload.name in FLEX_WORKLOADS:
        found.append(Candidate(name="flex_attention", prepare=flex_attention, is_peer=True))
    else:
        reason = f"it takes long to compile, and is compiled for {', '.join(FLEX_WORKLOADS)} only"
        found.append(unavailable("flex_attention", reason))
    found.append(Candidate(name="triton", prepare=triton, is_peer=True))
    found.append(Candidate(name="pallas", prepare=pallas, is_peer=True, clock="host"))
    found.append(Candidate(name="flashinfer", prepare=flashinfer, is_peer=True, clock="stream"))
    return found


def unavailable(name: str, reason: str) -> Candidate:
    """Return a peer that serves nothing, for a reason."""

    def prepare(_: Problem) -> Call:
        raise Unserved(reason)

    return Candidate(name=name, prepare=prepare, is_peer=True)
