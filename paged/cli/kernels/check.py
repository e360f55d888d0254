"""`paged kernels check`: run kernels with every access to memory judged.

With `--mutants` it is the check that is tried: on shipped kernels with a fault planted in each.
"""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace

from paged.cli.kernels.finding_lines import lines_of
from paged.cli.kernels.target import find_targets
from paged.errors import KernelSourceError, SanitizerError
from paged.kernel.call import kernel_call
from paged.kernel.finding import Finding
from paged.kernel.mutant_trial import Trial, kill_table, sample, try_mutants
from paged.kernel.ops.problems import problems_of, why_unserved
from paged.kernel.problem import Problem, copied
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.variant import Variant


def run_check(arguments: Namespace) -> int:
    """Sanitize kernels, or try mutants of them; return the exit status."""
    if arguments.mutants is not None:
        return _try_mutants(arguments)
    return _check_targets(arguments)


def _try_mutants(arguments: Namespace) -> int:
    """Print how each mutant fares, then the share of those found by class."""
    beside = arguments.targets or arguments.problem or arguments.orders is not None
    if beside or arguments.mutants < 1:
        raise KernelSourceError(
            "--mutants takes a number above 0, and no targets, problem or orders beside it"
        )
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
    if arguments.orders is not None:
        config = replace(config, seeds=arguments.orders)
    findings: list[Finding] = []
    num_calls = 0
    for variant in find_targets(arguments.targets):
        print(f"{variant.op.name}={variant.name}  {variant.path}", flush=True)
        told: set[tuple[object, ...]] = set()
        for problem in problems_of(variant.op):
            if arguments.problem.lower() not in problem.name.lower():
                continue
            if why_unserved(variant.spec, problem) is None:
                num_calls += 1
                findings += _check(variant, problem, config, told)
    if not num_calls:
        raise KernelSourceError(
            f"no problem that a kernel serves is named like {arguments.problem!r}; "
            f"see: paged kernels run"
        )
    print(f"{num_calls} calls, {len(findings)} findings")
    return 1 if findings else 0


def _check(
    variant: Variant, problem: Problem, config: SanitizeConfig, told: set[tuple[object, ...]]
) -> tuple[Finding, ...]:
    """Sanitize one call and print what was found; told: sites of findings printed before."""
    operands = [None if t is None else copied(t, t.device) for t in problem.operands]
    try:
        kernel_call(variant.spec, *operands, interpret=config, **problem.numbers)
    except SanitizerError as error:
        print(f"  FOUND {problem.name}", flush=True)
        for finding in error.findings:
            if finding.site not in told:
                print("\n".join(f"    {line}" for line in lines_of(finding)), flush=True)
        num_told = sum(finding.site in told for finding in error.findings)
        if num_told:
            print(f"    and {num_told} of those above", flush=True)
        told |= {finding.site for finding in error.findings}
        return error.findings
    print(f"  clean {problem.name}", flush=True)
    return ()
