"""Which kernel serves an operation: by name, by file, nested, and after an edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import paged
from paged.errors import KernelSourceError
from paged.kernel import registry
from paged.kernel.choice import current_choices, parse_choice, use_kernel
from paged.kernel.registry import find_op, resolve_variant, run_op


def test_choices_nest_and_end() -> None:
    assert current_choices().variants == {}
    with paged.use_kernel(attention="v0"):
        with use_kernel(write_kv="simple", attention="v1") as inner:
            assert current_choices() is inner
            assert inner.variants == {"attention": "v1", "write_kv": "simple"}
        assert current_choices().variants == {"attention": "v0"}
    assert current_choices().variants == {}


def test_choices_end_with_an_error() -> None:
    with pytest.raises(RuntimeError, match="inside"), use_kernel(attention="v0"):
        raise RuntimeError("inside")
    assert current_choices().variants == {}


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"attentions": "v0"}, "expected an op of attention, .* got 'attentions'"),
        (
            {"attention": "v99"},
            "a variant of attention: .*v0.*, host, reference, or a .* got 'v99'",
        ),
        ({"swap_blocks": "nat"}, "a variant of swap_blocks: .*, reference, or a path .* got 'nat'"),
        ({"attention": "hots"}, "got 'hots'; did you mean 'host'"),
        ({"attention": Path("gone.cu")}, "cannot read kernel source .*gone.cu"),
        ({"interpret": True}, "interpret must be of class InterpretConfig or None, got True"),
        ({"host": "avx2"}, "host must be of class HostConfig or None, got 'avx2'"),
        ({"attention": "gone.cu"}, "cannot read kernel source .*gone.cu"),
    ],
)
def test_what_cannot_serve_is_refused_at_once(choice: dict[str, Any], reason: str) -> None:
    with pytest.raises(KernelSourceError, match=reason), use_kernel(**choice):
        pytest.fail("entered the block")
    assert current_choices().variants == {}


def test_an_operation_without_a_host_kernel_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "HOST_OPS", ("attention",))
    reason = "write_kv has no host kernel; operations that have: attention"
    with pytest.raises(KernelSourceError, match=reason), use_kernel(write_kv="host"):
        pytest.fail("entered the block")


def test_a_file_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.cu"
    file.write_text("// paged: op copy_blocks\n// paged: launch f grid(1) block(1)\n")
    monkeypatch.chdir(tmp_path)
    assert resolve_variant("copy_blocks", "mine.cu") == str(file)
    assert resolve_variant("copy_blocks", "reference") == "reference"


COPY = """
// paged: op copy_blocks
// paged: launch copy grid(num_pairs) block(1)
extern "C" __global__ void copy(const __grid_constant__ CopyBlocksParams p) {
  const long long from = p.pairs[2 * blockIdx.x], to = p.pairs[2 * blockIdx.x + 1];
  const long long size = p.kv_pool_stride[0];
  for (int i = 0; i < size; ++i) p.kv_pool[to * size + i] = p.kv_pool[from * size + i]@;
}
"""


def test_an_edit_takes_effect_at_the_next_call(tmp_path: Path) -> None:
    file = tmp_path / "mine.cu"
    op = find_op("copy_blocks")
    pairs = torch.tensor([[0, 1]])

    def copied() -> float:
        pool = torch.ones(2, 1, 2, 1, 1, 4)
        run_op(op, (pool, pairs), {})
        return float(pool[1].mean())

    file.write_text(COPY.replace("@", " * 3"))
    with use_kernel(copy_blocks=file):
        assert copied() == 3
        file.write_text(COPY.replace("@", " * 4.5"))
        assert copied() == 4.5
        (tmp_path / "factor.cuh").write_text("#define FACTOR 7")
        file.write_text('#include "factor.cuh"\n' + COPY.replace("@", " * FACTOR"))
        assert copied() == 7
        (tmp_path / "factor.cuh").write_text("#define FACTOR 8.5")
        assert copied() == 8.5
    assert copied() == 1


@pytest.mark.parametrize("text", ["attention", "=v0", "attention=", ""])
def test_parse_choice_refuses(text: str) -> None:
    with pytest.raises(KernelSourceError, match="expected OP=VARIANT"):
        parse_choice(text)


def test_parse_choice() -> None:
    assert parse_choice("attention=a/b=c.cu") == ("attention", "a/b=c.cu")
