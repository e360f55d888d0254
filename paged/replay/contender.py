"""What a replay calls: a kernel by name or file, the host's, or the reference."""

from __future__ import annotations

from pathlib import Path

from paged.errors import KernelSourceError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.call import kernel_call
from paged.kernel.choice import HOST, REFERENCE, Choices, current_choices, in_force
from paged.kernel.measure.candidate import Call, Candidate, kernel_candidate
from paged.kernel.operator import op_call
from paged.kernel.problem import Problem, Tensors, results_of
from paged.kernel.registry import current_variant, find_op, resolve_variant
from paged.kernel.spec import KernelSpec


def contender(op: str, variant: str) -> Candidate:
    """Return what serves an operation under a name of `use_kernel`, ready to be called and timed.

    On CPU tensors CUDA kernels are interpreted. Raises: KernelSourceError for a name of nothing.
    """
    resolved = resolve_variant(op, variant)
    if resolved in {HOST, REFERENCE}:
        choices = Choices(variants={**current_choices().variants, op: resolved})
        return Candidate(name=resolved, prepare=lambda problem: _native(op, choices, problem))
    return kernel_candidate(_label(variant), _spec(op, resolved), InterpretConfig())


def sanitized(op: str, variant: str) -> Candidate:
    """Return a CUDA kernel as what is called with every access judged, on CPU tensors.

    Raises: KernelSourceError for what is no CUDA kernel.
    """
    resolved = resolve_variant(op, variant)
    if resolved in {HOST, REFERENCE}:
        raise KernelSourceError(f"only CUDA kernels can be sanitized, got {op}={variant}")
    spec = _spec(op, resolved)

    def prepare(problem: Problem) -> Call:
        def call() -> Tensors:
            outputs = kernel_call(spec, *problem.operands, interpret="sanitize", **problem.numbers)
            return results_of(spec, problem.operands, outputs)

        return call

    return Candidate(name=_label(variant), prepare=prepare, spec=spec)


def _spec(op: str, resolved: str) -> KernelSpec:
    return current_variant(find_op(op), resolved).spec


def _label(variant: str) -> str:
    return Path(variant).name


def _native(op: str, choices: Choices, problem: Problem) -> Call:
    signature = find_op(op).signature

    def call() -> Tensors:
        with in_force(choices):
            outputs = op_call(op, *problem.operands, **problem.numbers)
        return results_of(signature, problem.operands, outputs)

    return call
