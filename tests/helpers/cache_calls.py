"""Run a variant of a cache operation on a CPU and compare all memory to a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from paged.errors import KernelRunError
from paged.kernel.backends.host import HostConfig, load_host
from paged.kernel.backends.host_ops import run_host_op
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import kernel_call
from paged.kernel.ops import copy_blocks, gather_kv, rope_write_kv, swap_blocks, write_kv
from paged.kernel.plans import Given
from paged.kernel.registry import run_reference
from paged.kernel.spec import INCLUDE_DIR, KernelSpec
from paged.kernel.variant import find_variant

OPS = {
    module.OP.name: module.OP
    for module in (write_kv, rope_write_kv, copy_blocks, swap_blocks, gather_kv)
}
VARIANTS = ("simple", "vector")
KERNELS = (*VARIANTS, "host")
_NATURAL = InterpretConfig()

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Operands and numbers for one call; running it leaves them as they are."""

    op: str
    operands: tuple[torch.Tensor | None, ...]
    numbers: Mapping[str, int | float | bool] = field(default_factory=dict)

    def run(self, spec: KernelSpec | HostConfig, config: InterpretConfig = _NATURAL) -> Tensors:
        """Return outputs, then the inout operands, as a kernel makes them.

        The configuration is the interpreter's: native code has no orders to choose from.
        """
        operands = self._copies()
        if isinstance(spec, HostConfig):
            given = Given.of(operands, self.numbers)
            return self._results(operands, run_host_op(OPS[self.op], given, load_host(spec)))
        return self._results(
            operands, kernel_call(spec, *operands, interpret=config, **self.numbers)
        )

    def run_on_gpu(self, spec: KernelSpec) -> Tensors:
        """Return the same as the kernel makes it on a GPU, in GPU memory."""
        operands = self._copies("cuda")
        return self._results(
            operands, kernel_call(spec, *operands, interpret=False, **self.numbers)
        )

    def reference(self) -> Tensors:
        """Return the same as the reference makes it, in the kernel's dtypes."""
        operands = self._copies()
        return self._results(operands, run_reference(OPS[self.op], operands, self.numbers))

    def _copies(self, device: str = "cpu") -> tuple[torch.Tensor | None, ...]:
        return tuple(None if t is None else copied(t, device) for t in self.operands)

    def _results(self, operands: tuple[torch.Tensor | None, ...], outputs: object) -> Tensors:
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        given = zip(OPS[self.op].signature.given, operands, strict=True)
        changed = (t for operand, t in given if operand.intent == "inout")
        return tuple(t for t in (*made, *changed) if isinstance(t, torch.Tensor))


def kernel_of(op: str, kernel: str) -> KernelSpec | HostConfig:
    """Return what runs one of KERNELS."""
    return HostConfig(num_threads=2) if kernel == "host" else spec_of(op, kernel)


def spec_of(op: str, variant: str) -> KernelSpec:
    """Return the spec of a shipped variant."""
    return find_variant(OPS[op], variant).spec


def mutant_of(spec: KernelSpec, folder: Path, file: str, old: str, new: str) -> KernelSpec:
    """Return a spec whose kernel has a text replaced, in its file or in one of our headers."""
    assert isinstance(spec.source, Path)
    for path in (spec.source, *INCLUDE_DIR.glob("*.cuh")):
        text = path.read_text()
        if path.name == file:
            assert text.count(old) == 1, f"{file} must contain once: {old}"
            text = text.replace(old, new)
        (folder / path.name).write_text(text)
    return replace(spec, source=folder / spec.source.name, include_dirs=(folder,))


def fault(
    call: Call, spec: KernelSpec | HostConfig, config: InterpretConfig = _NATURAL
) -> str | None:
    """Say where a kernel's results or the memory around them differ from the reference's."""
    try:
        results = call.run(spec, config)
    except KernelRunError as error:
        return str(error)
    return difference(results, call.reference())


def difference(results: Tensors, expected: Tensors) -> str | None:
    """Say where two results differ in any bit, or in the memory between their elements."""
    assert len(results) == len(expected)
    for i, (got, exact) in enumerate(zip(results, expected, strict=True)):
        if not torch.equal(bits(got), bits(exact)):
            wrong = (bits(got) != bits(exact)).nonzero().flatten().tolist()
            return f"result {i}: {len(wrong)} bytes differ, the first at {wrong[0]}"
    return None


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return all bytes from a tensor's first element to its last, in host memory."""
    return memory_of(tensor).view(torch.uint8).cpu()


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return all elements from a tensor's first to its last."""
    if tensor.numel() == 0:
        return tensor.reshape(0)
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.as_strided((1 + sum((n - 1) * s for n, s in pairs),), (1,))


def copied(tensor: torch.Tensor, device: str = "cpu") -> torch.Tensor:
    """Copy a tensor with its strides and the memory between its elements."""
    if tensor.numel() == 0:
        return tensor.to(device, copy=True)
    memory = memory_of(tensor).to(device, copy=True)
    return memory.as_strided(tensor.shape, tensor.stride())
