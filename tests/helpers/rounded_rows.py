"""What int8 weights are multiplied by: x in fixed point, as `rounded_rows.h` says, in float64."""

from __future__ import annotations

import torch

from paged.kernel.backends.layer_records import PANEL_INPUTS

FRACTION_BITS = 14
LARGEST = 2**15 - 1
LEAST_EXPONENT = -112


def rounded_rows(x: torch.Tensor) -> torch.Tensor:
    """Return finite float32 [rows, in_features] as multiples of a power of 2 for each panel."""
    panels = x.double().split(PANEL_INPUTS, dim=1)
    return torch.cat([_rounded(panel) for panel in panels], dim=1)


def _rounded(panel: torch.Tensor) -> torch.Tensor:
    largest = panel.abs().amax(dim=1, keepdim=True)
    # frexp's mantissas are below 1, those of IEEE below 2
    exponents = (torch.frexp(largest).exponent - 1).clamp(min=LEAST_EXPONENT)
    exponents = torch.where(largest > 0, exponents, LEAST_EXPONENT)
    steps = torch.exp2(exponents.double() - FRACTION_BITS)
    return (panel / steps).round().clamp(max=LARGEST) * steps
