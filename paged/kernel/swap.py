"""Whole blocks between a pool on a GPU and one in pinned host memory.

Two ways: copy engines, which move long runs at the speed of the bus and leave the GPU's
processors free; and one kernel that reads or writes host memory itself, which has no cost for
each run. Source of the choice: vllm-project/vllm#57555.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from paged.errors import OperandError
from paged.kernel.copy_engine import Runs, copy_engine
from paged.kernel.memory import spanned_bytes
from paged.kernel.ops.swap_blocks import OP
from paged.kernel.registry import run_op

MIN_ENGINE_RUN_BYTES = 32 * 1024
"""Shorter runs go to the kernel."""


def swap_blocks(source: torch.Tensor, destination: torch.Tensor, pairs: torch.Tensor) -> None:
    """Copy blocks from one pool to the other, on the current stream of the GPU.

    Shapes: pools [num_blocks, num_layers, 2, num_kv_heads, block_size, head_dim], equal but for
    the first axis; pairs int64 [num_pairs, 2] in host memory: block of source, of destination.
    Pairs with a block outside of its pool are skipped; blocks of the destination must differ.
    Mutates: destination. Both pools must stay alive until the stream is past the copy.
    Raises: OperandError unless one pool is on a GPU and the other in pinned memory.
    """
    device = _check(source, destination)
    if len(pairs) == 0:
        return
    runs = plan_runs(source, destination, pairs)
    with torch.cuda.device(device):
        if runs is not None and runs.sizes_bytes.sum() >= MIN_ENGINE_RUN_BYTES * len(runs):
            copy_engine().copy(runs, torch.cuda.current_stream(device).cuda_stream)
        else:
            pools = (_on_gpu(source, device), _on_gpu(destination, device))
            run_op(OP, (*pools, pairs.to(device)), {})


def plan_runs(source: torch.Tensor, destination: torch.Tensor, pairs: torch.Tensor) -> Runs | None:
    """Return the fewest copies of contiguous bytes that move the blocks.

    Blocks that follow each other in both pools form one run. None where a block is not
    contiguous in one of the pools.
    """
    num_bytes = _block_bytes(source)
    if num_bytes is None or num_bytes != _block_bytes(destination):
        return None
    blocks = _known(pairs.numpy(), len(source), len(destination))
    blocks = blocks[np.argsort(blocks[:, 0], kind="stable")]
    pitches = [pool.stride(0) * pool.element_size() for pool in (source, destination)]
    is_packed = pitches == [num_bytes, num_bytes]
    follows = (np.diff(blocks, axis=0) == 1).all(axis=1) & is_packed
    first = np.flatnonzero(np.concatenate([[True], ~follows]))[: len(blocks)]
    lengths = np.diff(np.append(first, len(blocks)))
    starts = [
        (pool.data_ptr() + blocks[first, i] * pitch).astype(np.uint64)
        for i, (pool, pitch) in enumerate(zip((source, destination), pitches, strict=True))
    ]
    sizes_bytes = (lengths * num_bytes).astype(np.uint64)
    return Runs(sources=starts[0], destinations=starts[1], sizes_bytes=sizes_bytes)


def _known(
    pairs: npt.NDArray[np.int64], num_sources: int, num_destinations: int
) -> npt.NDArray[np.int64]:
    limits = np.array([num_sources, num_destinations])
    return pairs[((pairs >= 0) & (pairs < limits)).all(axis=1)]


def _block_bytes(pool: torch.Tensor) -> int | None:
    """Return the bytes of a block, or None where it is not contiguous."""
    block = pool[0] if len(pool) else pool.new_empty(pool.shape[1:])
    return block.numel() * block.element_size() if block.is_contiguous() else None


def _check(source: torch.Tensor, destination: torch.Tensor) -> torch.device:
    """Return the GPU, once the pools fit each other."""
    if source.shape[1:] != destination.shape[1:] or source.dtype != destination.dtype:
        raise OperandError(
            f"swap_blocks: expected blocks of one shape and dtype, got {source.dtype} "
            f"{tuple(source.shape[1:])} and {destination.dtype} {tuple(destination.shape[1:])}"
        )
    pools = (source, destination)
    gpu, host = (
        sum(test) for test in zip(*((p.is_cuda, _is_pinned(p)) for p in pools), strict=True)
    )
    if (gpu, host) != (1, 1):
        raise OperandError(
            f"swap_blocks: expected one pool on a GPU and one in pinned host memory, got "
            f"{source.device} and {destination.device}; make the host's with pin_memory=True"
        )
    return source.device if source.is_cuda else destination.device


def _is_pinned(pool: torch.Tensor) -> bool:
    return not pool.is_cuda and pool.is_pinned()


def _on_gpu(pool: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a pool as a GPU sees it: pinned memory has one address on both sides."""
    if pool.is_cuda:
        return pool
    memory = torch.as_tensor(_Mapped(pool, spanned_bytes(pool)), device=device)
    return memory.view(pool.dtype).as_strided(pool.shape, pool.stride())


class _Mapped:
    """Host memory in the form in which libraries exchange device memory."""

    def __init__(self, pool: torch.Tensor, num_bytes: int) -> None:
        self.pool = pool
        self.__cuda_array_interface__ = {
            "shape": (num_bytes,),
            "typestr": "|u1",
            "data": (pool.data_ptr(), False),
            "version": 3,
        }
