"""Arrays that end at a page nobody may touch, and whether a call of native code survives them."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import signal
from collections.abc import Callable

import numpy as np
import torch

PAGE_BYTES = mmap.PAGESIZE
LIMIT_S = 60


def guarded(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy whose last byte is the last of a page, with no memory after it."""
    num_pages = -(-tensor.nbytes // PAGE_BYTES)
    memory = mmap.mmap(-1, (num_pages + 1) * PAGE_BYTES)
    whole = np.frombuffer(memory, np.uint8)
    end = num_pages * PAGE_BYTES
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.c_void_p(whole.ctypes.data + end)
    if libc.mprotect(address, ctypes.c_size_t(PAGE_BYTES), 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    inside = torch.from_numpy(whole[end - tensor.nbytes : end]).view(tensor.dtype)
    return inside.view(tensor.shape).copy_(tensor)


def survives(call: Callable[[], object]) -> bool:
    """Say whether a child process ends a call without being killed.

    careful: the call must leave parallel work to native code of ours, for torch's own threads
    are not there in the child.
    """
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        try:
            signal.alarm(LIMIT_S)
            call()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
