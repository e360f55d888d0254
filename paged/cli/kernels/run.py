"""`paged kernels run`: try a kernel on its operation's problems, against the reference."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

import torch

from paged.cli.command import Command
from paged.cli.kernels.target import FORMS, find_targets
from paged.errors import BackendUnavailable, KernelRunError, KernelSourceError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.ops.problems import problems_of, why_unserved
from paged.kernel.problem import Problem, Verdict, try_kernel
from paged.kernel.variant import Variant


def seeds(text: str) -> tuple[int | None, ...]:
    """Read `natural,1,2`: the orders in which threads are run."""
    try:
        return tuple(None if part == "natural" else int(part) for part in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(f"expected natural, or numbers, with commas: {text!r}") from error


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=FORMS)
    parser.add_argument("--problem", default="", metavar="TEXT", help="only problems named so")
    parser.add_argument("--device", default="cpu", help="cpu (interpreter) or cuda")
    parser.add_argument(
        "--orders",
        type=seeds,
        default=(None, 1),
        metavar="LIST",
        help="orders of threads in the interpreter: natural, or seeds (default: natural,1)",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds a launch may take (60)"
    )


def _run(arguments: Namespace) -> int:
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BackendUnavailable("torch finds no CUDA device; see: paged doctor")
    orders = arguments.orders if device.type == "cpu" else (None,)
    configs = [InterpretConfig(seed=s, timeout_s=arguments.timeout) for s in orders]
    num_faults = 0
    for variant in find_targets(arguments.targets):
        problems = _problems(variant, arguments.problem)
        print(f"{variant.op.name}={variant.name}  {variant.path}")
        num_faults += sum(not _try(variant, problem, device, configs) for problem in problems)
    if num_faults:
        print(f"{num_faults} problems failed")
    return 1 if num_faults else 0


def _problems(variant: Variant, text: str) -> list[Problem]:
    """Return the problems whose name has the text. Raises: KernelSourceError for none."""
    problems = list(problems_of(variant.op))
    found = [problem for problem in problems if text.lower() in problem.name.lower()]
    if not found:
        names = "; ".join(problem.name for problem in problems)
        raise KernelSourceError(f"no problem is named like {text!r}; there are: {names}")
    return found


def _try(
    variant: Variant, problem: Problem, device: torch.device, configs: list[InterpretConfig]
) -> bool:
    why = why_unserved(variant.spec, problem)
    if why is not None:
        print(f"  -     {problem.name}: not served: {why}")
        return True
    for config in configs:
        verdict = _verdict(variant, problem, device, config)
        if verdict.fault is not None:
            order = "natural order" if config.seed is None else f"order {config.seed}"
            print(f"  FAIL  {problem.name} ({order}): {verdict.fault}")
            return False
    print(f"  ok    {problem.name}")
    return True


def _verdict(
    variant: Variant, problem: Problem, device: torch.device, config: InterpretConfig
) -> Verdict:
    """Judge one run; a kernel that crashes fails its problem, and the others are still tried."""
    try:
        return try_kernel(variant.spec, problem, device=device, interpret=config)
    except KernelRunError as error:
        return Verdict(problem=problem.name, fault=str(error), wall_s=0.0)


COMMAND = Command(
    name="run",
    summary="try kernels on seeded problems against the float64 reference",
    add_arguments=_add_arguments,
    run=_run,
)
