"""`paged kernels list` and `paged kernels show`."""

from __future__ import annotations

import pytest

from paged.cli.main import main
from paged.kernel.backends.host_ops import HOST_OPS
from paged.kernel.registry import OP_NAMES
from tests.helpers.printed import lines


def test_list_names_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "list"]) == 0
    listed = lines(capsys)
    assert {line.partition("=")[0] for line in listed} == set(OP_NAMES)
    assert all(len(line.split()) > 2 for line in listed)


def test_list_of_one_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "list", "copy_blocks"]) == 0
    assert [line.split()[0] for line in lines(capsys)] == [
        "copy_blocks=simple",
        "copy_blocks=vector",
        "copy_blocks=host",
        "copy_blocks=reference",
    ]


def test_list_names_what_is_no_file_where_an_operation_has_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["kernels", "list"]) == 0
    names = {line.split()[0] for line in lines(capsys)}
    assert {f"{op}=reference" for op in OP_NAMES} <= names
    assert {f"{op}=host" for op in HOST_OPS} <= names
    assert not {f"{op}=host" for op in set(OP_NAMES) - set(HOST_OPS)} & names


@pytest.mark.parametrize("target", ["attention", "attention=v0"])
def test_show_prints_operands_and_struct(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "show", target]) == 0
    shown = "\n".join(lines(capsys))
    assert "| `kv_pool` |" in shown
    assert "struct AttentionParams {" in shown
    assert ("| `attention_v0` |" in shown) == (target == "attention=v0")


def test_show_says_what_an_operation_computes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "show", "attention"]) == 0
    shown = "\n".join(lines(capsys))
    assert "What it computes:" in shown
    assert "Without visible keys out is 0 and lse -inf" in shown
