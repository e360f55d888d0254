"""What a call takes of the processor in the interpreter: its blocks, and nothing around them."""

from __future__ import annotations

import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig, InterpretProgram
from paged.kernel.backends.notes import Notes
from paged.kernel.binding import Number, bind
from paged.kernel.instance import instantiate, requests
from paged.kernel.launch import LaunchRequest
from paged.kernel.memory import check_memory, check_writable
from paged.kernel.plan import ready_call
from paged.kernel.sanitize import defined_bytes
from paged.kernel.spec import KernelSpec


def processor_s(
    spec: KernelSpec,
    *operands: torch.Tensor | None,
    interpret: InterpretConfig,
    **scalars: Number | None,
) -> float:
    """Run a call in the interpreter, and return the processor time of its blocks in seconds.

    That of all OS threads together; the process of a launch and its copies of operands are not
    part of it. With `interpret.sanitize`, every access is judged.

    Mutates: inout operands.
    Raises: what `kernel_call` raises. What is found is not: judge a kernel by `kernel_call`.

    """
    binding = bind(spec, operands, scalars)
    check_memory(binding)
    check_writable(spec, operands)
    program = InterpretBackend(interpret).build(instantiate(spec, binding.types, binding.sizes))
    call = ready_call(binding, requests(binding))
    for name, tensor in call.variables.items():
        program.copy_to_variable(name, tensor)
    if not interpret.sanitize:
        return sum(program.run(launch).processor_s for launch in call.launches)
    defined = defined_bytes(binding)
    return sum(_judged_s(program, launch, Notes(defined=defined)) for launch in call.launches)


def _judged_s(program: InterpretProgram, launch: LaunchRequest, notes: Notes) -> float:
    program.sanitize(launch, notes)
    return notes.processor_s
