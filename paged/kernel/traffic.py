"""How many bytes a kernel moves beside the least: every access counted, in the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.backends.structures import Counts
from paged.kernel.binding import Number, bind
from paged.kernel.cost import least_work
from paged.kernel.instance import instantiate, requests
from paged.kernel.memory import check_memory, check_writable
from paged.kernel.plan import ready_call
from paged.kernel.spec import KernelSpec
from paged.kernel.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandTraffic:
    """What one call did with one operand.

    Attributes:
        num_reads, num_writes: accesses by threads, of 16 bytes at most; an atomic operation is
            one of each.
        read_bytes, write_bytes: what threads asked for.
        read_sector_bytes, write_sector_bytes: what warps asked for, in sectors of 32 bytes. The
            lanes that execute an instruction together make one request, which moves each sector
            it touches once. Hits in a cache are not modelled.
        least_bytes: what a perfect kernel moves; None where only the whole call's is known.

    """

    operand: str
    num_reads: int
    num_writes: int
    read_bytes: int
    write_bytes: int
    read_sector_bytes: int
    write_sector_bytes: int
    least_bytes: int | None

    @property
    def sector_bytes(self) -> int:
        """Bytes moved in both directions."""
        return self.read_sector_bytes + self.write_sector_bytes

    @property
    def bytes_over_minimum(self) -> float | None:
        """Bytes moved over the least; None without a least above 0."""
        return self.sector_bytes / self.least_bytes if self.least_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What one call moved between its warps and memory.

    Attributes:
        operands: in the spec's order, workspaces too; without those left out, and without those
            that are read from a variable.

    """

    operands: tuple[OperandTraffic, ...]
    least_bytes: int

    @property
    def sector_bytes(self) -> int:
        """Bytes moved in both directions."""
        return sum(operand.sector_bytes for operand in self.operands)

    @property
    def bytes_over_minimum(self) -> float | None:
        """Bytes moved over the least; None for a call that need not move any."""
        return self.sector_bytes / self.least_bytes if self.least_bytes else None

    def of(self, operand: str) -> OperandTraffic:
        """Return an operand's. Raises KeyError where the call has none of this name."""
        by_name = {each.operand: each for each in self.operands}
        return by_name[operand]


def measure_traffic(
    spec: KernelSpec,
    *operands: torch.Tensor | None,
    interpret: InterpretConfig | None = None,
    **scalars: Number | None,
) -> Traffic:
    """Run a call in the interpreter, as `kernel_call` does, and count what it moves.

    The kernel is compiled a second time, with a call at each of its accesses to memory.

    Args:
        spec, operands, scalars: as in `kernel_call`, on the CPU.
        interpret: how; None for the defaults.

    Mutates: inout operands.
    Raises: what `kernel_call` raises; BackendUnavailable without g++.

    """
    config = replace(interpret or InterpretConfig(), observe=True)
    binding = bind(spec, operands, scalars)
    check_memory(binding)
    check_writable(spec, operands)
    work = least_work(binding)  # before inout operands change
    program = InterpretBackend(config).build(instantiate(spec, binding.types, binding.sizes))
    call = ready_call(binding, requests(binding))
    for name, tensor in call.variables.items():
        program.copy_to_variable(name, tensor)
    seen = [o.name for o in spec.operands if not o.is_variable]
    totals = {name: [0] * len(_FIELDS) for name in seen if binding.tensors[name] is not None}
    for launch in call.launches:
        for pointer, counts in zip(launch.pointers, program.run(launch).counts, strict=True):
            total = totals[pointer.operand]
            total[:] = [n + getattr(counts, field) for n, field in zip(total, _FIELDS, strict=True)]
    return _traffic(totals, work)


_FIELDS = tuple(field[0] for field in Counts._fields_)


def _traffic(totals: Mapping[str, Sequence[int]], work: Work) -> Traffic:
    least = work.operands
    return Traffic(
        operands=tuple(
            OperandTraffic(
                operand=name,
                **dict(zip(_FIELDS, numbers, strict=True)),
                least_bytes=None if least is None else least.get(name, 0),
            )
            for name, numbers in totals.items()
        ),
        least_bytes=work.bytes,
    )
