"""`paged kernels run`: try a kernel on its operation's problems, against the reference."""

from __future__ import annotations

from argparse import Namespace

import torch

from paged.cli.kernels.target import find_targets
from paged.errors import BackendUnavailable, KernelRunError, KernelSourceError, KernelTimeout
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.ops.problems import problems_of, why_unserved
from paged.kernel.problem import Problem, try_kernel
from paged.kernel.suggestion import suggestion
from paged.kernel.variant import Variant


def run_kernels(arguments: Namespace) -> int:
    """Try kernels on their problems; return the exit status, 1 where one failed."""
    device = torch.device(arguments.device)
    if device.type == "cuda" and not (device.index or 0) < torch.cuda.device_count():
        raise BackendUnavailable(f"torch finds no device {device}; see: paged doctor")
    orders = arguments.orders if device.type == "cpu" else (None,)
    configs = [InterpretConfig(seed=s, timeout_s=arguments.timeout) for s in orders]
    num_faults = sum(
        _try_all(variant, _problems(variant, arguments.problem), device, configs)
        for variant in find_targets(arguments.targets)
    )
    if num_faults:
        print(f"{num_faults} problem{'s' * (num_faults > 1)} failed")
    return 1 if num_faults else 0


def _try_all(
    variant: Variant,
    problems: list[Problem],
    device: torch.device,
    configs: list[InterpretConfig],
) -> int:
    """Try a kernel on problems, printing how it did; return the number of those it failed.

    One that does not end is not tried further: each problem might take the time limit.
    """
    print(f"{variant.op.name}={variant.name}  {variant.path}", flush=True)
    num_faults = 0
    told: set[str] = set()
    for i, problem in enumerate(problems):
        try:
            num_faults += not _try(variant, problem, device, configs, told)
        except KernelTimeout:
            num_left = len(problems) - i - 1
            if num_left:
                print(f"  -     not tried, as each might take that long: {num_left} more")
            return num_faults + 1
    return num_faults


def _problems(variant: Variant, text: str) -> list[Problem]:
    """Return the problems whose name has the text. Raises: KernelSourceError for none."""
    problems = list(problems_of(variant.op))
    found = [problem for problem in problems if text.lower() in problem.name.lower()]
    if not found:
        names = [problem.name for problem in problems]
        raise KernelSourceError(
            f"no problem is named like {text!r}; there are: {'; '.join(names)}"
            f"{suggestion(text, names)}"
        )
    return found


def _try(
    variant: Variant,
    problem: Problem,
    device: torch.device,
    configs: list[InterpretConfig],
    told: set[str],
) -> bool:
    """Try a kernel on a problem; told: faults printed before, which are not repeated, mutated."""
    why = why_unserved(variant.spec, problem)
    if why is not None:
        print(f"  -     {problem.name}: not served: {why}")
        return True
    for config in configs:
        fault = _fault(variant, problem, device, config)
        if fault is None:
            continue
        order = "natural order" if config.seed is None else f"order {config.seed}"
        text = "as above" if str(fault) in told else str(fault)
        told.add(str(fault))
        print(f"  FAIL  {problem.name} ({order}): {text}", flush=True)
        if isinstance(fault, KernelTimeout):
            raise fault
        return False
    print(f"  ok    {problem.name}", flush=True)
    return True


def _fault(
    variant: Variant, problem: Problem, device: torch.device, config: InterpretConfig
) -> str | KernelRunError | None:
    """Judge one run; a kernel that crashes fails its problem, and the others are still tried."""
    try:
        return try_kernel(variant.spec, problem, device=device, interpret=config).fault
    except KernelRunError as error:
        return error
