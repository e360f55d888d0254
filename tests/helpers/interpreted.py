"""Run single CUDA kernels, given as text, in the interpreter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig, InterpretProgram
from paged.kernel.launch import Extent, Intent, LaunchRequest, Pointer
from paged.kernel.source import KernelSource

FOLDER = Path(__file__).resolve().parents[1] / "kernels_cu" / "interpret"

Size = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Passed:
    """A tensor, and what a kernel does with it."""

    tensor: torch.Tensor
    intent: Intent


def given(tensor: torch.Tensor) -> Passed:
    """Pass a tensor that is read."""
    return Passed(tensor, "in")


def updated(tensor: torch.Tensor) -> Passed:
    """Pass a tensor that is read and written."""
    return Passed(tensor, "inout")


def filled(*shape: int, dtype: torch.dtype = torch.float32) -> Passed:
    """Pass a new tensor that the kernel fills."""
    return Passed(torch.zeros(shape, dtype=dtype), "out")


def fresh_program(
    file: str, config: InterpretConfig | None = None, *, templates: tuple[str, ...] = ()
) -> InterpretProgram:
    """Return the program of a file, with variables as the text sets them.

    Its entries are all plain kernels of the file, and the template expressions given.
    """
    text = (FOLDER / file).read_text()
    entries = (*re.findall(r'extern "C" __global__ void (?:\w+\(.*?\) )?(\w+)\(', text), *templates)
    source = KernelSource(name=file, path=FOLDER / file, text=text, entries=entries)
    return InterpretBackend(config or InterpretConfig()).build(source)


program = lru_cache(maxsize=64)(fresh_program)
"""The same, one object for equal arguments."""


def marked_line(file: str, mark: str) -> int:
    """Return the line, from 1, that ends in the comment `// here: mark`."""
    lines = (FOLDER / file).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"// here: {mark}"))


def launch(
    built: InterpretProgram,
    entry: str,
    *,
    grid: Size = 1,
    block: Size = 32,
    shared_bytes: int = 0,
    **arguments: Passed | int | float,
) -> None:
    """Launch with arguments in order: tensors, ints as int, floats as float."""
    values: list[np.ndarray[Any, Any]] = []
    pointers: list[Pointer] = []
    for index, (name, argument) in enumerate(arguments.items()):
        if isinstance(argument, Passed):
            values.append(np.array([argument.tensor.data_ptr()], np.uint64))
            pointer = Pointer(
                operand=name,
                tensor=argument.tensor,
                intent=argument.intent,
                argument_index=index,
                offset_bytes=0,
            )
            pointers.append(pointer)
        else:
            kind = np.int32 if isinstance(argument, int) else np.float32
            values.append(np.array([argument], kind))
    request = LaunchRequest(
        entry=entry,
        grid=extent(grid),
        block=extent(block),
        shared_bytes=shared_bytes,
        arguments=tuple(values),
        pointers=tuple(pointers),
    )
    built.launch(request)


def extent(size: Size) -> Extent:
    """Return a size along x, y and z."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z
