"""Work that is recorded once and run again by one call: CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

from paged.errors import KernelRunError

_NUM_WARM_UPS = 2

Work = Callable[[], object]


class Capture(Protocol):
    """Records work on tensors that stay where they are."""

    @property
    def computes(self) -> bool:
        """Whether what was recorded has been computed by that; else it takes a replay."""
        ...

    def __call__(self, work: Work) -> Callable[[], object]:
        """Record work and return what runs it again, on what its tensors hold then.

        The work is run too, any number of times. Raises: what the work raises.
        """
        ...


class CudaCapture:
    """Records CUDA graphs on one device, all in one pool of memory. Unverified on hardware.

    Nothing that the work allocates may be read once it has run: the next graph writes there.
    """

    computes = False

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, work: Work) -> Callable[[], None]:
        """Record work and return what runs it again.

        It is run first: kernels are compiled and loaded, and libraries take what memory they
        keep, none of which a recording may hold.
        Raises: KernelRunError where CUDA cannot record it; what the work raises.
        """
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            for _ in range(_NUM_WARM_UPS):
                work()
        current.wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        try:
            # other threads may go on using CUDA meanwhile
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
            ):
                work()
        except RuntimeError as error:
            raise KernelRunError(
                f"a decode step cannot be recorded as a CUDA graph: {error}; a kernel of it may"
                " wait for the device or allocate by itself: cuda_graph_sizes=() records nothing"
            ) from error
        return graph.replay
