"""Launch an entry of a CUDA file with any parameters, structs by value included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from paged.kernel.launch import Argument, Backend, Extent, Intent, LaunchRequest, Pointer, Program
from paged.kernel.source import KernelSource, read_source


@dataclass(frozen=True, slots=True)
class Memory:
    """A tensor as a kernel parameter: its address, or a record with its address in front."""

    intent: Intent
    tensor: torch.Tensor
    record: Argument | None = None


def load(backend: Backend, path: Path, entries: Sequence[str]) -> Program:
    """Build a file for some of its kernels."""
    return backend.build(
        KernelSource(name=path.stem, text=read_source(path), path=path, entries=tuple(entries))
    )


def launch(
    program: Program,
    entry: str,
    *parameters: Memory | Argument,
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    shared_bytes: int = 0,
) -> None:
    """Run one entry. Mutates the tensors that are not `in`."""
    arguments: list[Argument] = []
    pointers: list[Pointer] = []
    for index, parameter in enumerate(parameters):
        if not isinstance(parameter, Memory):
            arguments.append(parameter)
            continue
        address = np.array([parameter.tensor.data_ptr()], dtype=np.uint64)
        if parameter.record is None:
            arguments.append(address)
        else:
            record = parameter.record.copy()
            record.view(np.uint8)[:8] = address.view(np.uint8)
            arguments.append(record)
        pointers.append(
            Pointer(
                operand=f"parameter_{index}",
                tensor=parameter.tensor,
                intent=parameter.intent,
                argument_index=index,
                offset_bytes=0,
            )
        )
    program.launch(
        LaunchRequest(
            entry=entry,
            grid=_extent(grid),
            block=_extent(block),
            shared_bytes=shared_bytes,
            arguments=tuple(arguments),
            pointers=tuple(pointers),
        )
    )


def _extent(sizes: int | tuple[int, ...]) -> Extent:
    x, y, z = (*((sizes,) if isinstance(sizes, int) else sizes), 1, 1)[:3]
    return x, y, z
