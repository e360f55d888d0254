"""What is timed: a kernel of ours or a peer, made ready for one call, and checked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import bind
from paged.kernel.call import backend_for, kernel_call, kernel_for
from paged.kernel.measure.workloads import with_own_memory
from paged.kernel.ops.problems import why_unserved
from paged.kernel.problem import Problem, Tensors, results_of, same_bits
from paged.kernel.registry import ops
from paged.kernel.spec import KernelSpec

Call = Callable[[], Tensors]
"""Runs once and returns what a problem's judge takes."""

Clock = Literal["graph", "stream", "host"]
"""How a candidate is timed on a GPU: in a CUDA graph, by events on the stream where it cannot be
captured, or by the host where it has a stream of its own. On a CPU it is always the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to serve a workload.

    Attributes:
        prepare: does for a problem what need not be done at every call, such as laying out
            contiguous keys; raises what tells why it cannot serve the problem.
        spec: of a kernel of ours.

    """

    name: str
    prepare: Callable[[Problem], Call]
    is_peer: bool = False
    clock: Clock = "graph"
    spec: KernelSpec | None = None


class Unserved(Exception):
    """A candidate does not take this workload; the text says why."""


def kernel_candidate(name: str, spec: KernelSpec, interpret: InterpretConfig) -> Candidate:
    """Return a kernel of ours as a candidate: on CPU tensors it is interpreted."""

    def prepare(problem: Problem) -> Call:
        why = why_unserved(spec, problem)
        if why is not None:
            raise Unserved(why)
        on_gpu = any(t is not None and t.is_cuda for t in problem.operands)
        mode = False if on_gpu else interpret
        # compile now, for a build is no part of a call's time
        backend = backend_for(spec, problem.operands, mode)
        kernel_for(spec, backend).program(bind(spec, problem.operands, problem.numbers))

        def call() -> Tensors:
            outputs = kernel_call(spec, *problem.operands, interpret=mode, **problem.numbers)
            return results_of(spec, problem.operands, outputs)

        return call

    return Candidate(name=name, prepare=prepare, spec=spec)


def fault_of(candidate: Candidate, op: str, problems: Sequence[Problem]) -> str | None:
    """Run a candidate on copies of several problems of one shape and say what is wrong.

    Results are judged when all calls are done: a candidate that returns the same buffer each
    time, or the result of another call, fails. So does one that changes an operand it may
    only read.
    Raises: Unserved, and what the candidate raises.
    """
    copies = [with_own_memory(problem) for problem in problems]
    results = [candidate.prepare(copy)() for copy in copies]
    for problem, copy, result in zip(problems, copies, results, strict=True):
        fault = problem.judge(result) or _changed_operand(op, problem, copy)
        if fault is not None:
            return fault
    return None


def _changed_operand(op: str, problem: Problem, copy: Problem) -> str | None:
    given = zip(ops()[op].signature.given, problem.operands, copy.operands, strict=True)
    for operand, before, after in given:
        if operand.intent != "in" or before is None or after is None:
            continue
        if same_bits((after,), (before,)) is not None:
            return f"operand {operand.name!r} is only to be read, but was changed"
    return None


def operand_bytes(problem: Problem) -> int:
    """Return the bytes of a call's operands."""
    return sum(t.numel() * t.element_size() for t in problem.operands if t is not None)
