"""Mean and spread of a measure over seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.report.frame import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Mean over seeds and sample standard deviation (None with a single seed)."""

    mean: float
    std: float | None

    def mean_text(self, decimals: int = 1) -> str:
        """Print the mean, a dash where it was not measured."""
        return f"{self.mean:.{decimals}f}" if np.isfinite(self.mean) else "-"

    def text(self, decimals: int = 1) -> str:
        """Print as `mean±std`, or the mean alone where there is no spread to show."""
        mean = self.mean_text(decimals)
        return mean if self.std is None else f"{mean}±{self.std:.{decimals}f}"


def estimate(values: Column) -> Estimate:
    """Estimate a measure from its finite values, one per seed; NaN mean without any."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return Estimate(mean=float("nan"), std=None)
    std = float(np.std(finite, ddof=1)) if len(finite) > 1 else None
    return Estimate(mean=float(np.mean(finite)), std=std)
