"""Machine instructions are counted by entry, and claims about them are checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.sass import disassemble, missing_claims, opcodes
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import COPY, copy_source, needs_nvdisasm

OPCODES = {"LDG.E.128.CONSTANT": 2, "LDGSTS.E.BYPASS.LTC128B.128": 1, "HMMA.16816.F32": 8}


@pytest.mark.parametrize(
    "claim", ["LDG", "LDG.E.128", "LDG.128", "LDGSTS.128.BYPASS", "HMMA.16816"]
)
def test_a_claim_holds_where_operation_and_modifiers_occur(claim: str) -> None:
    assert missing_claims(OPCODES, [claim]) == []


@pytest.mark.parametrize("claim", ["LDG.E.64", "STG", "LD", "HMMA.16816.F16", "LDGSTS.E.CONSTANT"])
def test_a_claim_fails_where_no_instruction_has_all_of_it(claim: str) -> None:
    assert missing_claims(OPCODES, [claim, "LDG"]) == [claim]


@needs_nvdisasm
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90", "sm_90a", "sm_100"])
def test_sixteen_byte_moves_are_seen_on_each_architecture(arch: str) -> None:
    found = opcodes(compile_cubin(copy_source(), arch), "copy_float4")
    assert missing_claims(found, ["LDG.E.128", "STG.E.128", "EXIT"]) == []
    assert missing_claims(found, ["HMMA"]) == ["HMMA"]


@needs_nvdisasm
def test_entries_are_told_apart_and_predicates_are_no_opcodes() -> None:
    text = COPY + "__global__ void add(int n, int* x) { if (n > 3) atomicAdd(x, n); }\n"
    source = KernelSource(name="two", text=text, entries=("add", "copy_float4"))
    cubin = compile_cubin(source, "sm_80")
    add = opcodes(cubin, "add")
    assert missing_claims(add, ["LDG"]) == ["LDG"]
    assert missing_claims(add, ["RED.ADD"]) == []
    assert missing_claims(opcodes(cubin, "copy_float4"), ["RED"]) == ["RED"]
    assert all(opcode[0] not in "@/{" for opcode in add)


@needs_nvdisasm
def test_subnormals_are_not_flushed() -> None:
    text = "__global__ void k(float* x) { *x = *x * 0.3f; }"
    cubin = compile_cubin(KernelSource(name="k", text=text, entries=("k",)), "sm_80")
    assert opcodes(cubin, "k")["FMUL"] == 1


@needs_nvdisasm
def test_what_is_no_cubin_is_refused_by_the_disassembler() -> None:
    broken = replace(compile_cubin(copy_source(), "sm_80"), image=b"\x7fELF and no more")
    with pytest.raises(KernelCompileError, match="refused the cubin"):
        disassemble(broken)
