"""One launch of the interpreter, from its begin to its end."""

from __future__ import annotations

import ctypes
import signal
import sys
import time
from collections.abc import Sequence
from types import TracebackType

from paged.errors import KernelRunError
from paged.kernel.backends import runtime_library as runtime

TEXT_BYTES = 65536
POLL_MS = 50
GRACE_S = 1.0
ENDED = 0


class Job:
    """A launch that runs, in this process or in a child; a context manager that ends it."""

    def __init__(
        self,
        library: ctypes.CDLL,
        request: runtime.Request,
        memory: runtime.Memory,
        *,
        is_isolated: bool,
    ) -> None:
        self._library = library
        self._request = request  # the runtime keeps pointers to both
        self._memory = memory
        self._is_isolated = is_isolated
        self._handle: int | None = None

    def __enter__(self) -> Job:
        """Start the launch. Raises KernelRunError where memory or a process cannot be had."""
        sys.stdout.flush()
        self._handle = self._library.paged_begin_job(
            ctypes.byref(self._request), ctypes.byref(self._memory), self._is_isolated
        )
        if self._handle is None:
            raise KernelRunError("cannot start the launch: no memory or no process to be had")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill what still runs and unmap all memory."""
        self._library.paged_end_job(self._handle)
        self._handle = None

    def run(self, timeout_s: float) -> int:
        """Wait for the end, passing on what the kernel prints; copy outputs back.

        Returns: 0 after success, below 0 after death by that signal, else see the report.
        """
        deadline_s = time.monotonic() + timeout_s
        has_stopped = False
        buffer = ctypes.create_string_buffer(TEXT_BYTES)
        while True:
            num_bytes = self._library.paged_read_text(self._handle, buffer, TEXT_BYTES, POLL_MS)
            if num_bytes == ENDED:
                break
            if num_bytes > 0:
                sys.stdout.write(buffer.raw[:num_bytes].decode(errors="replace"))
            if time.monotonic() < deadline_s:
                continue
            if has_stopped:
                break
            self._library.paged_stop_job(self._handle)
            has_stopped = True
            deadline_s += GRACE_S
        return self._library.paged_finish_job(self._handle)

    @property
    def report(self) -> runtime.Report:
        """How the launch failed; valid until the job's end."""
        return self._library.paged_job_report(self._handle).contents

    @property
    def mapped(self) -> Sequence[int]:
        """Where each region lay for the kernel."""
        memory = self._memory
        return [memory.regions[i].mapped or 0 for i in range(memory.num_regions)]

    @staticmethod
    def death(outcome: int) -> str:
        """Return what to say of a child that ended without a report."""
        if outcome >= 0:
            return "its process ended before the kernel did"
        name = signal.Signals(-outcome).name
        hint = "; is memory short?" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
