"""How far a kernel may be from the exact result: never a bare tolerance."""

from __future__ import annotations

import math

import torch


def excess(
    name: str, got: torch.Tensor, exact: torch.Tensor, low_precision: torch.Tensor
) -> str | None:
    """Say where a kernel's result is worse than the same mathematics in its own precision.

    Shapes: [..., n]; each row along the last axis is judged by itself, for a fault in a row of
    small values must not hide behind the rounding of large ones. `low_precision` is the result
    of plain torch with all arithmetic in the kernel's dtype. A row may err twice as far as its
    row there, plus a few roundings of its largest element. Infinities and NaN must stand where
    they stand in the exact result.

    Source: the rule of Dao-AILab/flash-attention's tests, by row.
    """
    if got.shape != exact.shape:
        return f"{name}: expected shape {tuple(exact.shape)}, got {tuple(got.shape)}"
    values = got.to(torch.float64)
    unequal = ~torch.isfinite(exact) | ~torch.isfinite(values)
    wrong = unequal & ~torch.isclose(values, exact, equal_nan=True)
    if wrong.any():
        return _at(name, wrong.to(torch.float64), values, exact, "a finite or an infinite value")
    limit = _limit(got.dtype, exact, low_precision)
    error = torch.where(unequal, 0.0, (values - exact).abs())
    over = error - limit
    if (over > 0).any():
        return _at(name, over, values, exact, f"an error of at most {float(limit.max()):.3g}")
    return _turned(name, values, exact, low_precision)


def _limit(dtype: torch.dtype, exact: torch.Tensor, low_precision: torch.Tensor) -> torch.Tensor:
    finite = torch.where(torch.isfinite(exact), exact, 0.0)
    lost = (low_precision.to(torch.float64) - exact).abs().nan_to_num(0.0, 0.0, 0.0)
    if exact.numel() == 0:
        return finite
    # one rounding of the output, and sums in float32
    rounding = torch.finfo(dtype).eps + 32 * torch.finfo(torch.float32).eps
    largest = finite.abs().amax(dim=-1, keepdim=True)
    return 2 * lost.amax(dim=-1, keepdim=True) + rounding * largest + 1e-7


def _turned(
    name: str, values: torch.Tensor, exact: torch.Tensor, low_precision: torch.Tensor
) -> str | None:
    """Compare directions, which many small errors of one sign change and a maximum does not."""

    def turn(of: torch.Tensor) -> float:
        a, b = (t.nan_to_num(0.0, 0.0, 0.0).flatten() for t in (of.to(torch.float64), exact))
        lengths = math.sqrt(float(a @ a) * float(b @ b))
        return 1 - float(a @ b) / lengths if lengths else float(a @ a)

    # 1 - cosine grows with the square of the error
    limit = 4 * turn(low_precision) + 1e-6
    if turn(values) > limit:
        return f"{name}: 1 - cosine to the exact result is {turn(values):.3g}, at most {limit:.3g}"
    return None


def _at(
    name: str, badness: torch.Tensor, got: torch.Tensor, exact: torch.Tensor, expected: str
) -> str:
    flat = int(badness.argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), badness.shape))
    num_wrong = int((badness > 0).sum())
    return (
        f"{name}{list(index)} is {float(got[index]):.6g}, exactly {float(exact[index]):.6g}: "
        f"expected {expected}; {num_wrong} of {got.numel()} elements are wrong"
    )
