"""Kernels as torch operators: schema, implementations and fake kernels from one spec.

`Library.define` and `impl` cost 5 to 9 us a call, the `custom_op` decorator ten times that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from paged.errors import KernelSourceError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import Number, Outputs, bind, padded, returned
from paged.kernel.call import kernel_call
from paged.kernel.op import schema
from paged.kernel.registry import find_op, ops, run_op
from paged.kernel.spec import KernelSpec
from paged.kernel.tap import show

NAMESPACE = "paged"

Implementation = Callable[..., Outputs]

Operator = Callable[..., Any]
"""A `torch._ops.OpOverload`, which torch does not name in public."""


def define_operator(
    library: torch.library.Library, spec: KernelSpec, implementation: Implementation
) -> Operator:
    """Define a spec as an operator of a library, for CPU and CUDA tensors and for tracing.

    Raises: KernelSourceError where the library has that operator already.
    """
    untyped: Any = library
    try:
        untyped.define(schema(spec))
    except RuntimeError as error:
        raise KernelSourceError(f"cannot define {untyped.ns}::{spec.name}: {error}") from error
    # every kind of tensor, so that those that no kernel takes are refused in our words
    untyped.impl(spec.name, implementation, "CompositeExplicitAutograd")

    def fake(*operands: torch.Tensor | None, **numbers: Number | None) -> Outputs:
        return returned(bind(spec, padded(spec, operands), numbers).outputs)

    untyped_library: Any = torch.library
    untyped_library.register_fake(f"{untyped.ns}::{spec.name}", fake, lib=library)
    return getattr(getattr(torch.ops, untyped.ns), spec.name).default


def kernel_op(
    spec: KernelSpec,
    library: torch.library.Library,
    *,
    interpret: InterpretConfig | None = None,
) -> Operator:
    """Make a kernel of one's own a torch operator, which traces and compiles like torch's own.

    On CPU tensors it runs in the interpreter. The operator lives as long as the library:
    `torch.library.Library("mine", "FRAGMENT")`.
    """
    config = InterpretConfig() if interpret is None else interpret

    def run(*operands: torch.Tensor | None, **numbers: Number | None) -> Outputs:
        given = padded(spec, operands)
        on_gpu = any(t is not None and t.is_cuda for t in given)
        return kernel_call(spec, *given, interpret=False if on_gpu else config, **numbers)

    return define_operator(library, spec, run)


def _define_all() -> torch.library.Library:
    library = torch.library.Library(NAMESPACE, "DEF")
    for op in ops().values():

        def run(*operands: torch.Tensor | None, _op: Any = op, **numbers: Number | None) -> Outputs:
            return run_op(_op, operands, numbers)

        define_operator(library, op.signature, run)
    return library


LIBRARY = _define_all()
"""Keeps `torch.ops.paged` alive: an operator goes when its library does."""


def op_call(name: str, *operands: torch.Tensor | None, **numbers: Number | None) -> Any:
    """Call an operation: through torch's dispatcher only where torch is tracing or compiling.

    Raises: KernelSourceError for an unknown operation, and all that `run_op` raises.
    """
    if torch.compiler.is_compiling():
        return getattr(torch.ops.paged, name)(*operands, **numbers)
    result = run_op(find_op(name), operands, numbers)
    show(name, operands, numbers, result)
    return result
