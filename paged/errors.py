"""Every error that `paged` raises on purpose.

One class per decision a caller makes. Each leaves the state as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class PagedError(Exception):
    """Base of all errors raised by this package."""


class ConfigError(PagedError, ValueError):
    """A configuration value is out of range or contradicts another."""


class OutOfBlocks(PagedError):
    """The pool cannot supply the blocks asked for: preempt and retry."""

    def __init__(self, *, num_needed: int, num_available: int) -> None:
        self.num_needed = num_needed
        self.num_available = num_available
        super().__init__(
            f"needed {num_needed} blocks, {num_available} available; preempt a sequence and retry"
        )


class RequestRefused(PagedError, ValueError):
    """The request can never be served with this configuration."""


class RequestFailed(PagedError):
    """A step failed and took requests with it; the engine goes on.

    outputs: what all requests of the call came to, those that failed and the others.
    """

    def __init__(self, message: str, outputs: Sequence[object] = ()) -> None:
        self.outputs = outputs
        super().__init__(message)


class UnknownRow(PagedError, KeyError):
    """The row holds no live sequence."""


class ModelFileError(PagedError, ValueError):
    """A model's files are missing, malformed or contradict one another."""


class DownloadError(PagedError):
    """A model could not be fetched, is not what was published, or found no room."""


class KernelSourceError(PagedError, ValueError):
    """A kernel's source or its description is missing, malformed or contradicts itself."""


class KernelCompileError(PagedError):
    """A compiler refused a kernel; the message holds the compiler's own text."""


class UnsupportedFeature(PagedError):
    """The kernel uses, by name, what this backend cannot run."""


class BackendUnavailable(PagedError):
    """The machine lacks what a backend needs: a device, a library or a compiler."""


class OperandError(PagedError, ValueError):
    """An operand does not match the kernel's description: shape, dtype, stride or device."""


class KernelRunError(PagedError):
    """A kernel crashed, deadlocked, failed an assertion or did not end."""


class KernelTimeout(KernelRunError):
    """A kernel did not end within its time limit: another try may take as long."""


class RecordingError(PagedError, ValueError):
    """A recording cannot be written, is no recording, is damaged or breaks off."""


class SanitizerError(KernelRunError):
    """A sanitizer found faults in a kernel.

    findings: all of them, as data: of type `paged.kernel.finding.Finding`.
    """

    def __init__(self, findings: Sequence[Any]) -> None:
        self.findings: tuple[Any, ...] = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


class BadLogits(PagedError):
    """A model gave no finite logits, so there is nothing to draw from."""


class QueueFull(PagedError):
    """As many requests are open as may be: the same request may succeed later."""


class EngineStopped(PagedError):
    """The engine has died, or is being stopped, and serves no request any more."""


class ServerError(PagedError):
    """A server that is under load cannot be reached, refused, or broke off its answer."""


class IntegrityError(PagedError, AssertionError):
    """An internal invariant is broken: a bug in `paged`, never in its caller."""


def check(condition: bool, message: str) -> None:
    """Raise IntegrityError with message unless condition holds."""
    if not condition:
        raise IntegrityError(message)
