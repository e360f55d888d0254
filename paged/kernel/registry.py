"""The operations there are, and the one place where a call meets its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import torch

from paged.errors import KernelSourceError
from paged.kernel.backends.host import find_host, load_host
from paged.kernel.backends.host_ops import HOST_OPS, run_host_op
from paged.kernel.backends.host_program import spoil_recording
from paged.kernel.binding import Number, Outputs, bind, padded, returned
from paged.kernel.call import plans_for, run_kernel
from paged.kernel.choice import HOST, REFERENCE, Choices, current_choices
from paged.kernel.memory import check_memory, check_writable
from paged.kernel.op import Op
from paged.kernel.plans import Given
from paged.kernel.suggestion import suggestion
from paged.kernel.variant import Variant, find_variant, load_variant, shipped_variants

OP_NAMES = (
    "attention",
    "write_kv",
    "rope_write_kv",
    "copy_blocks",
    "swap_blocks",
    "gather_kv",
)


@lru_cache(maxsize=1)
def ops() -> Mapping[str, Op]:
    """Return all operations by name."""
    return {name: import_module(f"paged.kernel.ops.{name}").OP for name in OP_NAMES}


def find_op(name: str) -> Op:
    """Return an operation. Raises KernelSourceError, which lists them."""
    if name not in OP_NAMES:
        guess = suggestion(name, OP_NAMES)
        raise KernelSourceError(f"expected an op of {', '.join(OP_NAMES)}; got {name!r}{guess}")
    return ops()[name]


def resolve_variant(op_name: str, variant: str) -> str:
    """Return a variant's name, a file's as an absolute path.

    Raises: KernelSourceError unless the operation exists and the variant can serve it.
    """
    op = find_op(op_name)
    if variant == REFERENCE or (variant == HOST and op_name in HOST_OPS):
        return variant
    if variant == HOST:
        raise KernelSourceError(
            f"{op_name} has no host kernel; operations that have: {', '.join(HOST_OPS)}"
        )
    found = find_variant(op, variant, others=unfiled_variants(op_name))
    return str(found.path) if variant.endswith(".cu") else variant


def unfiled_variants(op_name: str) -> tuple[str, ...]:
    """Return the variants of an operation that are no `.cu` file: native, and in torch."""
    return (HOST, REFERENCE) if op_name in HOST_OPS else (REFERENCE,)


def run_op(
    op: Op, operands: Sequence[torch.Tensor | None], numbers: Mapping[str, Number | None]
) -> Outputs:
    """Serve one call with the kernel in force: on a GPU, on the host, interpreted, or in torch.

    On a GPU the default is the operation's own choice; on the CPU it is the host kernel, or the
    reference where there is none: the interpreter is made to check kernels, not to be fast.

    Mutates: inout operands.
    Raises: OperandError before anything runs, and all that `kernel_call` raises.
    """
    choices = current_choices()
    padding = padded(op.signature, operands)
    on_gpu = any(isinstance(t, torch.Tensor) and t.is_cuda for t in padding)
    name = choices.variants.get(op.name)
    if name is None and not on_gpu:
        name = cpu_default(op.name, choices)
    if name == REFERENCE:
        return run_reference(op, padding, numbers)
    given = Given.of(padding, numbers)
    if name == HOST:
        return run_host_op(op, given, load_host(choices.host))
    if name is None:
        name = op.choose(plans_for(op.signature).check(given))
    spec = current_variant(op, name).spec
    return run_kernel(spec, given, False if on_gpu else choices.interpret)


def cpu_default(op_name: str, choices: Choices) -> str:
    """Name what serves an operation on CPU tensors when its caller names nothing."""
    return HOST if op_name in HOST_OPS and find_host(choices.host) is not None else REFERENCE


def run_reference(
    op: Op, operands: Sequence[torch.Tensor | None], numbers: Mapping[str, Number | None]
) -> Outputs:
    """Compute an operation in torch, checked and rounded as a kernel's call is."""
    spoil_recording(f"{op.name} in torch, which may look at values")
    binding = bind(op.signature, operands, numbers)
    check_memory(binding)
    check_writable(op.signature, operands)
    results = op.reference(*operands, **numbers)
    if results is None:
        return None
    exact = results if isinstance(results, tuple) else (results,)
    for output, result in zip(binding.outputs, exact, strict=True):
        output.copy_(result)
    return returned(binding.outputs)


def current_variant(op: Op, name: str) -> Variant:
    """Return a variant as its file is now."""
    path = Path(name) if name.endswith(".cu") else _shipped(op)[name]
    try:
        stat = path.stat()
    except OSError as error:
        raise KernelSourceError(f"cannot read kernel source: {error}") from error
    return _loaded(op, path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _shipped(op: Op) -> Mapping[str, Path]:
    return shipped_variants(op)


@lru_cache(maxsize=256)
def _loaded(op: Op, path: Path, _modified_ns: int, _size_bytes: int) -> Variant:
    return load_variant(op, path)
