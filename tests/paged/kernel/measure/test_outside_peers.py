"""Peers of other projects say why they are left out; fakes show that they are called right."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from paged.kernel.measure import outside_peers
from paged.kernel.measure.candidate import Unserved
from paged.kernel.measure.outside_peers import flashinfer, pallas, triton
from tests.helpers.measured import CPU, WORKLOAD, with_shape

PEERS = {"Triton": triton, "FlashInfer": flashinfer, "JAX": pallas}


@pytest.mark.parametrize("name", PEERS)
def test_what_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_peers, "find_spec", lambda _: None)
    with pytest.raises(Unserved, match=f"{name} is not installed"):
        PEERS[name](WORKLOAD.build(CPU, 1))


@pytest.mark.parametrize("prepare", PEERS.values(), ids=list(PEERS))
@pytest.mark.parametrize(
    "shape", [{"seq_lens": (9,), "query_lens": (3,)}, {"kv_t": "float8_e4m3fn"}]
)
def test_only_plain_decode_is_compared(prepare: Any, shape: dict[str, Any]) -> None:
    with pytest.raises(Unserved, match="it is compared on"):
        prepare(with_shape(**shape).build(CPU, 1))


def fake(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(outside_peers, "find_spec", lambda _: object())


def test_flashinfer_is_planned_with_pages_and_their_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []

    class Wrapper:
        def __init__(self, workspace: torch.Tensor, layout: str, **options: Any) -> None:
            planned.append((layout, options))

        def plan(self, *arguments: Any, **options: Any) -> None:
            planned.append((arguments, options))

        def run(self, query: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
            planned.append(pool.shape)
            return query

    fake(monkeypatch, "flashinfer", BatchDecodeWithPagedKVCacheWrapper=Wrapper)
    problem = with_shape(group_size=4, seq_lens=(9, 32, 9)).build(CPU, 1)
    flashinfer(problem)()
    made, ((starts, pages, last, *sizes), options), pool_shape = planned
    assert made == ("HND", {"use_tensor_cores": True})
    tables = problem.operands[2]
    assert tables is not None
    assert starts.tolist() == [0, 1, 3, 4]
    assert pages.tolist() == [int(tables[0, 0]), *tables[1].tolist(), int(tables[2, 0])]
    assert last.tolist() == [9, 16, 9]
    assert sizes == [8, 2, 16, 16]
    assert options["sm_scale"] == 0.25
    assert pool_shape == (4, 2, 2, 16, 16)


def test_pallas_gets_a_scaled_query_and_splits_that_divide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []

    class Array:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

        def block_until_ready(self) -> torch.Tensor:
            return self.tensor

    def paged_attention(*arguments: torch.Tensor, k_splits: int) -> Array:
        given.append((arguments, k_splits))
        return Array(arguments[0])

    dlpack = SimpleNamespace(from_dlpack=lambda tensor: tensor)
    fake(monkeypatch, "jax", default_backend=lambda: "gpu", dlpack=dlpack)
    name = "jax.experimental.pallas.ops.gpu.paged_attention"
    fake(monkeypatch, name, paged_attention=paged_attention)
    for parent in ("jax.experimental", "jax.experimental.pallas"):
        fake(monkeypatch, parent)
    for parent in ("jax.experimental.pallas.ops", "jax.experimental.pallas.ops.gpu"):
        fake(monkeypatch, parent)
    problem = WORKLOAD.build(CPU, 1)
    pallas(problem)()
    ((query, keys, values, tables, lengths), num_splits) = given[0]
    original, pool = problem.operands[0], problem.operands[1]
    assert original is not None
    assert pool is not None
    assert torch.equal(query, original * 0.25)
    assert torch.equal(keys[1, 3], pool[3, 0, 0, 1])
    assert torch.equal(values[1, 3], pool[3, 0, 1, 1])
    assert (tables.shape, lengths.tolist(), num_splits) == ((3, 2), [9, 20, 9], 2)


def test_jax_without_a_gpu_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, "jax", default_backend=lambda: "cpu")
    with pytest.raises(Unserved, match="without a GPU backend"):
        pallas(WORKLOAD.build(CPU, 1))
