"""Where blocks are copied between a GPU and the host, beside what the GPU computes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

import torch


class Ticket(Protocol):
    """Copies that a lane has taken."""

    @property
    def is_over(self) -> bool:
        """Whether the copies have been made."""
        ...

    def wait(self) -> None:
        """Let all that is computed from now on come after the copies."""
        ...


class Lane(Protocol):
    """Makes copies one after another."""

    def submit(self, copies: Callable[[], object]) -> Ticket:
        """Make copies after all that was computed so far, and after the copies before them.

        Raises: what the copies raise; what is computed from then on comes after those made.
        """
        ...

    def drain(self) -> None:
        """Wait, on the host, until all copies have been made."""
        ...


class InlineLane:
    """Makes copies at once: on the CPU, where nothing is computed meanwhile."""

    def submit(self, copies: Callable[[], object]) -> Ticket:
        """Make copies."""
        copies()
        return _Over()

    def drain(self) -> None:
        """Do nothing."""


class _Over:
    is_over = True

    def wait(self) -> None:
        """Do nothing."""


class CudaLane:
    """A stream of a GPU beside the one that computes. Unverified on hardware.

    Memory that is copied must live until the stream is past the copies.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def submit(self, copies: Callable[[], object]) -> Ticket:
        """Enqueue copies behind what the GPU has been given so far."""
        computing = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(computing)
        with ExitStack() as on_failure:
            on_failure.callback(computing.wait_stream, self._stream)
            with torch.cuda.stream(self._stream):
                copies()
            on_failure.pop_all()
        event = torch.cuda.Event()
        event.record(self._stream)
        return _Copied(self._device, event)

    def drain(self) -> None:
        """Wait for the stream."""
        self._stream.synchronize()


class _Copied:
    def __init__(self, device: torch.device, event: torch.cuda.Event) -> None:
        self._device = device
        self._event = event

    @property
    def is_over(self) -> bool:
        """Whether the GPU has made the copies."""
        return self._event.query()

    def wait(self) -> None:
        """Let what the GPU is given from now on come after the copies."""
        torch.cuda.current_stream(self._device).wait_event(self._event)


def find_lane(device: torch.device) -> Lane:
    """Return the lane between a device and the host."""
    return CudaLane(device) if device.type == "cuda" else InlineLane()
