"""The error of this package."""

from __future__ import annotations

from paged.errors import PagedError


class WorkloadError(PagedError, ValueError):
    """A workload cannot be read, does not reconcile, or cannot do what was asked."""


def require(condition: bool, message: str) -> None:
    """Raise WorkloadError with message unless condition holds."""
    if not condition:
        raise WorkloadError(message)
