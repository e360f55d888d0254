"""Run a call in the interpreter with every access to memory judged.

The first run takes blocks and lanes in their natural order and watches each access. Where it finds
nothing, further runs, without watching, take them in other orders over other undefined memory, and
must give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from paged.errors import SanitizerError
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig, InterpretProgram
from paged.kernel.backends.notes import Notes
from paged.kernel.binding import Binding, Number, Outputs, bind, padded, returned
from paged.kernel.finding import Finding, Place
from paged.kernel.instance import instantiate, requests
from paged.kernel.launch import LaunchRequest
from paged.kernel.memory import check_memory, check_writable, num_spanned, spanned_bytes
from paged.kernel.plan import ready_call
from paged.kernel.source import KernelSource
from paged.kernel.spec import KernelSpec

OTHER_POISON = 0xAA
ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizeConfig:
    """How calls are sanitized.

    Attributes:
        seeds: each is another order of blocks and lanes, in which results must be the same; none
            for kernels whose results may differ, as sums by atomics do.
        timeout_s: how long a launch may take.
        partial: out operands that need not be written everywhere.

    """

    seeds: tuple[int, ...] = (1,)
    timeout_s: float = 60.0
    partial: frozenset[str] = frozenset()


def sanitize_call(
    spec: KernelSpec,
    operands: Sequence[torch.Tensor | None],
    numbers: Mapping[str, Number | None],
    config: SanitizeConfig,
) -> Outputs:
    """Run a call as `kernel_call` does, and raise what is wrong with the kernel.

    Mutates: inout operands, where nothing is wrong.
    Raises: SanitizerError with the findings; what `kernel_call` raises before a kernel runs.
    """
    operands = padded(spec, operands)
    check_writable(spec, operands)
    first = _Run(spec, operands, numbers)
    findings = first.watched(config)
    for seed in config.seeds if not findings else ():
        findings = _Run(spec, operands, numbers).compared(first, seed, config.timeout_s)
        if findings:
            break
    if findings:
        raise SanitizerError(findings)
    for tensor, copy in zip(operands, first.copies, strict=True):
        if tensor is not None and copy is not None and copy is not tensor:
            tensor.copy_(copy)
    return returned(first.binding.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A program by all that decides what it is: the hash tells of headers too."""

    source: KernelSource
    content_hash: str
    config: InterpretConfig


@lru_cache(maxsize=64)
def _program(wanted: _Wanted) -> InterpretProgram:
    return InterpretBackend(wanted.config).build(wanted.source)


class _Run:
    """One run of a call on copies of what the kernel writes."""

    def __init__(
        self,
        spec: KernelSpec,
        operands: Sequence[torch.Tensor | None],
        numbers: Mapping[str, Number | None],
    ) -> None:
        pairs = zip(spec.given, operands, strict=True)
        self.copies = [_copied(t) if t is not None and o.intent == "inout" else t for o, t in pairs]
        self.binding = bind(spec, self.copies, numbers)
        check_memory(self.binding)

    def watched(self, config: SanitizeConfig) -> tuple[Finding, ...]:
        """Run with every access judged; return what was found."""
        program = self._program(InterpretConfig(sanitize=True, timeout_s=config.timeout_s))
        defined = defined_bytes(self.binding)
        last = ""
        for launch in self._launches(program):
            found = program.sanitize(launch, Notes(defined=defined))
            if found:
                return found
            last = launch.entry
        return tuple(self._unwritten(defined, config.partial, last))

    def compared(self, first: _Run, seed: int, timeout_s: float) -> tuple[Finding, ...]:
        """Run in another order; return where results differ from those of a run before."""
        config = InterpretConfig(
            seed=seed, poison=OTHER_POISON, timeout_s=timeout_s, refuse_waits=True
        )
        program = self._program(config)
        entry = ""
        for launch in self._launches(program):
            entry = launch.entry
            found = program.sanitize(launch, Notes(defined={}))
            if found:
                return found
        return tuple(_differences(entry, seed, first.binding, self.binding))

    def _program(self, config: InterpretConfig) -> InterpretProgram:
        binding = self.binding
        source = instantiate(binding.spec, binding.types, binding.sizes)
        wanted = _Wanted(source=source, content_hash=source.content_hash, config=config)
        return _program(wanted).afresh()

    def _launches(self, program: InterpretProgram) -> Sequence[LaunchRequest]:
        call = ready_call(self.binding, requests(self.binding))
        for name, tensor in call.variables.items():
            program.copy_to_variable(name, tensor)
        return call.launches

    def _unwritten(
        self, defined: Mapping[str, bytearray], partial: frozenset[str], entry: str
    ) -> Iterator[Finding]:
        for operand in self.binding.spec.operands:
            tensor = self.binding.tensors[operand.name]
            if operand.intent != "out" or operand.name in partial or tensor is None:
                continue
            if tensor.numel() == 0:
                continue
            written = torch.frombuffer(defined[operand.name], dtype=torch.uint8)
            missing = written.view(-1, tensor.element_size()).amin(dim=1) == 0
            indices = missing.as_strided(tensor.shape, tensor.stride()).nonzero()
            if len(indices):
                index = tuple(int(i) for i in indices[0])
                text = f"never writes {_element(operand.name, index)}"
                yield Finding(
                    kind="unwritten_output",
                    kernel=entry,
                    message=f"{text}, first of {len(indices)} elements of {tensor.numel()}",
                    place=Place(),
                    operand=operand.name,
                    index=index,
                )


def defined_bytes(binding: Binding) -> dict[str, bytearray]:
    """Return, of operands of which not all may be read at first, which bytes may be."""
    may_read = binding.spec.cost.may_read
    readable = {} if may_read is None else dict(may_read(binding))
    defined: dict[str, bytearray] = {}
    for operand in binding.spec.operands:
        tensor = binding.tensors[operand.name]
        if tensor is None or tensor.numel() == 0:
            continue
        if operand.name in readable:
            defined[operand.name] = _laid_out(readable[operand.name], tensor)
        elif operand.intent in ("out", "workspace"):
            defined[operand.name] = bytearray(spanned_bytes(tensor))
    return defined


def _laid_out(mask: torch.Tensor, tensor: torch.Tensor) -> bytearray:
    """Return a mask of elements as one of bytes, laid out as the tensor is."""
    memory = torch.zeros(num_spanned(tensor), dtype=torch.uint8)
    memory.as_strided(tensor.shape, tensor.stride()).copy_(mask.expand(tensor.shape))
    return bytearray(memory.repeat_interleave(tensor.element_size()).numpy().tobytes())


def _differences(entry: str, seed: int, first: Binding, other: Binding) -> Iterator[Finding]:
    for operand in first.spec.operands:
        a, b = first.tensors[operand.name], other.tensors[operand.name]
        if operand.intent not in ("out", "inout") or a is None or b is None:
            continue
        indices = (_bytes(a) != _bytes(b)).any(dim=-1).nonzero()
        if len(indices):
            index = tuple(int(i) for i in indices[0])
            yield Finding(
                kind="order_dependent",
                kernel=entry,
                message=f"leaves other bits in {_element(operand.name, index)} where blocks and "
                f"threads run in the order of seed {seed}; {len(indices)} elements differ",
                place=Place(),
                operand=operand.name,
                index=index,
            )


def _element(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]"


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of each element along a last axis."""
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)
    return flat.reshape(*tensor.shape, tensor.element_size())


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same strides, as far from a multiple of 16 bytes."""
    if tensor.numel() == 0:
        return tensor.clone()
    shift = tensor.data_ptr() % ALIGNMENT_BYTES // tensor.element_size()
    room = torch.empty(shift + num_spanned(tensor), dtype=tensor.dtype)
    room[shift:].copy_(tensor.as_strided((num_spanned(tensor),), (1,)))
    return room.as_strided(tensor.shape, tensor.stride(), shift)
