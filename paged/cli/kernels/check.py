"""`paged kernels check`: run kernels with every access to memory judged.

With `--mutants` it is the check that is tried: on shipped kernels with a fault planted in each.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from paged.cli.command import Action
from paged.cli.kernels.target import FORMS, find_targets
from paged.errors import KernelSourceError, SanitizerError
from paged.kernel.call import kernel_call
from paged.kernel.finding import Finding
from paged.kernel.mutant_trial import Trial, kill_table, sample, try_mutants
from paged.kernel.ops.problems import problems_of, why_unserved
from paged.kernel.problem import Problem, copied
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.variant import Variant


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{FORMS}; none: all shipped")
    parser.add_argument("--problem", default="", metavar="TEXT", help="only problems named so")
    parser.add_argument(
        "--mutants",
        type=int,
        metavar="N",
        help="instead: plant faults in the shipped kernels, and try N of each class",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds a launch may take (60)"
    )


def _run(arguments: Namespace) -> int:
    if arguments.mutants is not None:
        return _try_mutants(arguments)
    return _check_targets(arguments)


def _try_mutants(arguments: Namespace) -> int:
    """Print how each mutant fares, then the share of those found by class."""
    if arguments.targets or arguments.problem or arguments.mutants < 1:
        raise KernelSourceError("--mutants takes a number above 0, no targets and no problem")
    trials: list[Trial] = []
    num_workers = len(os.sched_getaffinity(0))
    for trial in try_mutants(sample(arguments.mutants), num_workers):
        print(f"  {trial.outcome:22} {trial.subject.variant}  {trial.mutant}", flush=True)
        trials.append(trial)
    for trial in trials:
        if trial.survivor is not None:
            print(f"  {trial.outcome}: {trial.mutant}: {trial.survivor.why}")
    print("\n".join(kill_table(trials)))
    return 0


def _check_targets(arguments: Namespace) -> int:
    config = SanitizeConfig(timeout_s=arguments.timeout)
    findings: list[Finding] = []
    num_calls = 0
    for variant in find_targets(arguments.targets):
        print(f"{variant.op.name}={variant.name}  {variant.path}", flush=True)
        for problem in problems_of(variant.op):
            if arguments.problem.lower() not in problem.name.lower():
                continue
            if why_unserved(variant.spec, problem) is None:
                num_calls += 1
                findings += _check(variant, problem, config)
    if not num_calls:
        raise KernelSourceError(
            f"no problem that a kernel serves is named like {arguments.problem!r}; "
            f"see: paged kernels run"
        )
    print(f"{num_calls} calls, {len(findings)} findings")
    return 1 if findings else 0


def _check(variant: Variant, problem: Problem, config: SanitizeConfig) -> tuple[Finding, ...]:
    """Sanitize one call and print what was found."""
    operands = [None if t is None else copied(t, t.device) for t in problem.operands]
    try:
        kernel_call(variant.spec, *operands, interpret=config, **problem.numbers)
    except SanitizerError as error:
        print(f"  FOUND {problem.name}", flush=True)
        for finding in error.findings:
            print(f"        {finding}", flush=True)
        return error.findings
    print(f"  clean {problem.name}", flush=True)
    return ()


ACTION = Action(add_arguments=_add_arguments, run=_run)
