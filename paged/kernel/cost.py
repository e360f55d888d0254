"""The least work of a call, and the least time it takes on hardware."""

from __future__ import annotations

from dataclasses import dataclass

from paged.kernel.binding import Binding
from paged.kernel.expression import expression
from paged.kernel.work import Work


def least_work(binding: Binding) -> Work:
    """Return the bytes and flops that a perfect kernel would need for this call.

    May read the contents of operands, and so wait for a GPU.
    """
    cost = binding.spec.cost
    if cost.work is not None:
        return cost.work(binding)
    flops = 0 if cost.flops is None else expression(cost.flops).evaluate(binding.sizes)
    if cost.bytes is not None:
        return Work(bytes=expression(cost.bytes).evaluate(binding.sizes), flops=flops)
    return Work.of(operand_bytes(binding), flops=flops)


def operand_bytes(binding: Binding) -> dict[str, int]:
    """Return the bytes of each operand, twice where it is both read and written."""
    times = {"in": 1, "out": 1, "inout": 2, "workspace": 0}
    tensors = ((o, binding.tensors[o.name]) for o in binding.spec.operands)
    return {
        o.name: times[o.intent] * t.numel() * t.element_size() for o, t in tensors if t is not None
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """What hardware can do at best, measured or from a data sheet."""

    bytes_per_s: float
    flops_per_s: float

    def least_s(self, work: Work) -> float:
        """Return the least time for some work: what is slower of moving and computing."""
        return max(work.bytes / self.bytes_per_s, work.flops / self.flops_per_s)
