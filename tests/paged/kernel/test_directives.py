"""How a kernel file describes itself."""

from __future__ import annotations

import pytest

from paged.errors import KernelSourceError
from paged.kernel.directives import Claim, parse_directives
from paged.kernel.spec import Launch, Operand

TEXT = """\
// A kernel.
// paged: op attention
// paged: summary    splits the keys, then combines
// paged: symbol     num_splits = cdiv(max_blocks * block_size, 512)
// paged: require    head_dim % 8 == 0
// paged: require    num_splits < 1000
// paged: types      kv_t = float16 bfloat16
// paged: constant   head_dim group_size
// paged: align      query 16
// paged: workspace  partial float32 num_tokens num_splits head_dim+2
// paged: launch     split<{kv_t}> grid(cdiv(num_tokens, 2), num_splits) block(32, 4) shared(4*max(a, b))
// paged: launch     combine grid(num_tokens) block(128)
// paged: registers  96
// paged: claim      sm_80 LDG.E.128
__global__ void split() {}
"""  # noqa: E501


def test_every_directive() -> None:
    found = parse_directives(TEXT, "mine.cu")
    assert found.op == "attention"
    assert found.summary == "splits the keys, then combines"
    assert found.symbols == {"num_splits": "cdiv(max_blocks * block_size, 512)"}
    assert found.requires == ("head_dim % 8 == 0", "num_splits < 1000")
    assert found.types == {"kv_t": ("float16", "bfloat16")}
    assert found.constants == ("head_dim", "group_size")
    assert found.alignments_bytes == {"query": 16}
    assert found.workspaces == (
        Operand(
            name="partial",
            dtype="float32",
            shape="num_tokens num_splits head_dim+2",
            intent="workspace",
        ),
    )
    assert found.launches == (
        Launch(
            entry="split<{kv_t}>",
            grid=("cdiv(num_tokens, 2)", "num_splits"),
            block=("32", "4"),
            shared_bytes="4*max(a, b)",
        ),
        Launch(entry="combine", grid=("num_tokens",), block=("128",), shared_bytes="0"),
    )
    assert found.max_registers == 96
    assert found.claims == (Claim(arch="sm_80", opcode="LDG.E.128"),)


def test_a_file_that_says_nothing() -> None:
    found = parse_directives("__global__ void f() {}  // not paged: op x", "f.cu")
    assert found.op is None
    assert found.launches == ()


def test_indented_lines_count() -> None:
    assert parse_directives("  // paged: op attention\n\t//paged: summary x", "f.cu").summary == "x"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("launch f grid(1) block(1) shared(1,2)", r"expected one size in shared\(BYTES\), got"),
        ("claim a", "expected ARCH OPCODE, got 'a'"),
        ("claim a b c", "expected ARCH OPCODE, got 'a b c'"),
        ("workspace partial", r"expected NAME DTYPE \[SIZE ...\], got 'partial'"),
        ("align query", "expected OPERAND BYTES, got 'query'"),
        ("align query x", "expected OPERAND BYTES, got 'query x'"),
        ("sumary x", "got 'sumary'; did you mean 'summary'"),
        ("registers -3", "expected the most registers a thread may have, got '-3'"),
    ],
)
def test_a_malformed_line_says_what_it_should_be(line: str, reason: str) -> None:
    with pytest.raises(KernelSourceError, match=reason):
        parse_directives(f"// paged: {line}\n", "mine.cu")


@pytest.mark.parametrize(
    "line",
    [
        "colour red",
        "symbol num_splits cdiv(a, b)",
        "symbol = 3",
        "launch split grid(1)",
        "launch grid(1) block(1)",
        "launch split grid(1 block(1)",
        "launch split grid(1) block(1) warps(2)",
        "workspace partial",
        "registers many",
        "claim HMMA",
    ],
)
def test_a_malformed_line_is_named(line: str) -> None:
    key = line.partition(" ")[0]
    with pytest.raises(KernelSourceError, match=rf"^mine\.cu:3: // paged: {key}: "):
        parse_directives(f"//\n//\n// paged: {line}\n", "mine.cu")
