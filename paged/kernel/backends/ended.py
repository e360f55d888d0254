"""How a launch ended well."""

from __future__ import annotations

from dataclasses import dataclass

from paged.kernel.backends.structures import Counts, Report

_S_PER_NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a launch did.

    Attributes:
        counts: of each pointer of the request, where the launch was observed.
        processor_s: processor time of all OS threads while they ran blocks.

    """

    counts: tuple[Counts, ...] = ()
    processor_s: float = 0.0

    @classmethod
    def of(cls, report: Report, counts: tuple[Counts, ...] = ()) -> Ended:
        """Return what a launch's report tells of one that did not fail."""
        return cls(counts=counts, processor_s=report.processor_ns * _S_PER_NS)
