"""The least work of a call: what a perfect kernel would move and compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from paged.kernel.binding import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one call moves and computes.

    Attributes:
        bytes: of all operands together.
        operands: bytes of each by name, where they are known; those left out need none.

    """

    bytes: int
    flops: int
    operands: Mapping[str, int] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, operands: Mapping[str, int], *, flops: int = 0) -> Work:
        """Return the work of moving so many bytes of each operand."""
        return cls(bytes=sum(operands.values()), flops=flops, operands=operands)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Least work that a perfect kernel would do, for the roofline.

    Attributes:
        bytes: an expression; None counts every given and returned element once.
        flops: an expression; None for kernels that only move data.
        work: replaces both where the least work depends on the contents of operands, such as
            sequence lengths; `text` then says how.
        text: the least work in words, for the kernel's page.
        may_read: for operands of which a call may read a part only, a bool tensor that broadcasts
            to the operand's shape; a sanitizer finds reads of the rest.

    """

    bytes: str | None = None
    flops: str | None = None
    work: Callable[[Binding], Work] | None = None
    text: str = ""
    may_read: Callable[[Binding], Mapping[str, torch.Tensor]] | None = None
