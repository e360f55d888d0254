"""Decode attention of other projects on the same paged pool, where they are installed."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from math import gcd
from typing import Any

import torch

from paged.kernel.expression import cdiv
from paged.kernel.measure.attention_batch import Batch, batch_of
from paged.kernel.measure.candidate import Call, Unserved
from paged.kernel.ops.pool import integers
from paged.kernel.problem import Problem, Tensors

_FLASHINFER_WORKSPACE_BYTES = 128 * 1024 * 1024
_PALLAS_SPLITS = 16


def _require(module: str, package: str) -> Any:
    if find_spec(module.partition(".")[0]) is None:
        raise Unserved(f"{package} is not installed")
    return import_module(module)


def _decode_batch(problem: Problem) -> Batch:
    batch = batch_of(problem)
    if not batch.is_decode:
        raise Unserved("it is compared on decode only")
    if batch.kv_pool.dtype != batch.query.dtype:
        raise Unserved("it is compared on a pool of the query's dtype only")
    return batch


def triton(problem: Problem) -> Call:
    """Prepare our own split-KV decode kernel in Triton, on the pool as it is."""
    batch = _decode_batch(problem)
    _require("triton", "Triton")
    module = import_module("paged.kernel.measure.triton_decode")

    def call() -> Tensors:
        return module.decode(
            batch.query, batch.kv_pool, batch.block_tables, batch.seq_lens, batch.scale
        )

    return call


def flashinfer(problem: Problem) -> Call:
    """Prepare FlashInfer's batch decode, planned beforehand, on the pool as it is."""
    batch = _decode_batch(problem)
    module = _require("flashinfer", "FlashInfer")
    block_size = batch.kv_pool.shape[3]
    lengths = integers(batch.seq_lens)
    num_pages = [cdiv(length, block_size) for length in lengths]
    rows = zip(batch.block_tables, num_pages, strict=True)
    device = batch.query.device
    wrapper = module.BatchDecodeWithPagedKVCacheWrapper(
        torch.zeros(_FLASHINFER_WORKSPACE_BYTES, dtype=torch.uint8, device=device),
        "HND",
        use_tensor_cores=batch.group_size >= 4,
    )
    wrapper.plan(
        torch.tensor([0, *num_pages]).cumsum(0).to(device, torch.int32),
        torch.cat([table[:pages] for table, pages in rows]),
        torch.tensor([(n - 1) % block_size + 1 for n in lengths], dtype=torch.int32, device=device),
        batch.query.shape[1],
        batch.kv_pool.shape[2],
        batch.query.shape[2],
        block_size,
        q_data_type=batch.query.dtype,
        kv_data_type=batch.kv_pool.dtype,
        sm_scale=batch.scale,
    )
    return lambda: (wrapper.run(batch.query, batch.kv_pool),)


def pallas(problem: Problem) -> Call:
    """Prepare JAX's Pallas kernel, on copies of the pool in the layout that it takes.

    It does not scale the query, so that is done beforehand. It runs on a stream of its own.
    """
    batch = _decode_batch(problem)
    # careful: JAX takes most of the GPU's memory when it is first used
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = _require("jax", "JAX")
    if jax.default_backend() != "gpu":
        raise Unserved("JAX is installed without a GPU backend")
    module = import_module("jax.experimental.pallas.ops.gpu.paged_attention")
    keys, values = batch.kv_pool.permute(1, 2, 0, 3, 4).contiguous()
    given = [
        jax.dlpack.from_dlpack(t.contiguous())
        for t in (batch.query * batch.scale, keys, values, batch.block_tables, batch.seq_lens)
    ]
    # it takes as many splits as divide the table
    num_splits = gcd(_PALLAS_SPLITS, batch.block_tables.shape[1])

    def call() -> Tensors:
        out = module.paged_attention(*given, k_splits=num_splits).block_until_ready()
        return (torch.from_dlpack(out),)

    return call
