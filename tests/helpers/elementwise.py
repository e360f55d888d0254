"""Run kernels of the form kernel(inputs.., out, n), one thread an element, on the interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import Program, one
from paged.kernel.source import KernelSource, read_source
from tests.helpers.cuda_launch import Memory, launch

NUM_THREADS = 256
KERNELS_DIR = Path(__file__).resolve().parents[1] / "kernels_cu" / "interpret"


@dataclass(frozen=True, kw_only=True)
class Elementwise:
    """A file of such kernels.

    Attributes:
        file: its name, below the folder of the interpreter's tests.
        entries: the kernels in it that are used.
        defines: macros it is compiled with.

    """

    file: str
    entries: tuple[str, ...]
    defines: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> KernelSource:
        """Return the source with its macros."""
        path = KERNELS_DIR / self.file
        return KernelSource(
            name=path.stem,
            text=read_source(path),
            path=path,
            entries=self.entries,
            defines=self.defines,
        )

    def run(
        self, entry: str, *inputs: torch.Tensor, dtype: torch.dtype, num_rows: int
    ) -> torch.Tensor:
        """Return a kernel's results, [num_rows, n] for inputs of n elements."""
        n = inputs[0].numel()
        out = torch.zeros(num_rows, n, dtype=dtype)
        launch(
            _build(self),
            entry,
            *(Memory("in", tensor) for tensor in inputs),
            Memory("inout", out),
            one(n, np.int32),
            grid=-(-n // NUM_THREADS),
            block=NUM_THREADS,
        )
        return out


@cache
def _build(kernels: Elementwise) -> Program:
    return InterpretBackend(InterpretConfig()).build(kernels.source)
