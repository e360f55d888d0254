"""The gate says which promise of a file a compiled kernel breaks."""

from __future__ import annotations

from paged.kernel.directives import Claim, Directives
from paged.kernel.gate import claim_faults, resource_faults
from paged.kernel.nvrtc import Cubin, compile_cubin
from tests.helpers.cuda_sources import copy_source, needs_nvdisasm

LOG = """ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used 65 registers, used 0 barriers
"""


def of(stores: int, loads: int) -> Cubin:
    log = LOG.format(stores=stores, loads=loads)
    return Cubin(arch="sm_80", image=b"", symbols=(("k", "k"),), log=log)


def test_a_kernel_at_its_bound_passes() -> None:
    assert resource_faults(of(0, 0), Directives(max_registers=65)) == []
    assert resource_faults(of(0, 0), Directives()) == []


def test_one_register_more_than_promised_is_a_fault() -> None:
    faults = resource_faults(of(0, 0), Directives(max_registers=64))
    assert faults == ["k on sm_80: expected at most 64 registers, got 65"]


def test_spills_are_faults_without_any_promise() -> None:
    faults = resource_faults(of(8, 12), Directives())
    assert faults == ["k on sm_80: expected no spills, got 8 bytes of stores and 12 of loads"]


@needs_nvdisasm
def test_claims_hold_for_their_own_architecture_only() -> None:
    claims = (Claim(arch="sm_80", opcode="LDG.E.128"), Claim(arch="sm_90", opcode="HMMA"))
    directives = Directives(claims=claims)
    assert claim_faults(compile_cubin(copy_source(), "sm_80"), directives) == []
    assert claim_faults(compile_cubin(copy_source(), "sm_90"), directives) == [
        "sm_90: expected HMMA, got none in copy_float4"
    ]


def test_without_claims_no_disassembler_is_asked_for() -> None:
    assert claim_faults(of(0, 0), Directives(claims=(Claim(arch="sm_90", opcode="LDG"),))) == []
