"""Memory of a step that stays where it is: filled on the host, read on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch


class StepBuffer:
    """A tensor on the device, and the memory on the host that it is filled from.

    On the CPU both are the same memory. On a GPU the host's is pinned, and nothing waits for
    a copy but the next filling.
    """

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        is_gpu = device.type == "cuda"
        self._host = torch.zeros(shape, dtype=dtype, pin_memory=is_gpu)
        self._values: npt.NDArray[Any] = self._host.numpy()  # pyright: ignore[reportUnknownMemberType]
        self.tensor = torch.zeros(shape, dtype=dtype, device=device) if is_gpu else self._host
        self._sent = torch.cuda.Event() if is_gpu else None

    def begin(self) -> npt.NDArray[Any]:
        """Return the host's memory to write to, once what was sent has left it."""
        if self._sent is not None:
            self._sent.synchronize()
        return self._values

    def send(self, count: int) -> torch.Tensor:
        """Copy the first count places of the first axis to the device and return that part."""
        part = self.tensor[:count]
        if self._sent is not None:
            part.copy_(self._host[:count], non_blocking=True)
            self._sent.record(torch.cuda.current_stream(part.device))
        return part

    def fill(self, values: npt.NDArray[Any]) -> torch.Tensor:
        """Copy values to the start of a buffer with one axis and return that part, flat."""
        np.copyto(self.begin()[: values.size].reshape(values.shape), values)
        return self.send(values.size)
