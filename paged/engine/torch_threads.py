"""How many threads torch uses while the host backend works with its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Generator[None, None, None]:
    """Keep torch on the calling thread inside the block.

    Its threads spin after each operation and take cores from the host backend's, which do
    the work; what is left for torch is too small to share out.
    """
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)
