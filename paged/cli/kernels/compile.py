"""`paged kernels compile`: compile for GPUs without one; registers, spills, instructions."""

from __future__ import annotations

from argparse import Namespace

from paged.cli.kernels.target import find_targets
from paged.errors import KernelCompileError, KernelSourceError
from paged.kernel import cubin_cache
from paged.kernel.gate import claim_faults, resource_faults
from paged.kernel.gate_plan import Build, builds
from paged.kernel.resources import resources
from paged.kernel.variant import Variant


def run_compile(arguments: Namespace) -> int:
    """Compile kernels; return the exit status, 1 where one has a fault."""
    num_built, num_faulty = 0, 0
    for variant in find_targets(arguments.targets):
        for build in builds(variant.spec, is_full=arguments.full):
            if arguments.arch and build.arch not in arguments.arch:
                continue
            rows, faults = compile_one(variant, build)
            num_built += 1
            num_faulty += bool(faults)
            for row in rows if not arguments.quiet else ():
                print(row)
            for fault in faults:
                print(f"  FAULT {variant.path.name} {build.instance.label}: {fault}")
    if num_built == 0:
        raise KernelSourceError("nothing to compile for these targets and architectures")
    print(f"{num_built} builds, {num_faulty} with faults")
    return 1 if num_faulty else 0


def compile_one(variant: Variant, build: Build) -> tuple[list[str], list[str]]:
    """Compile one instance: a row for each kernel in it, and what breaks the file's promises."""
    try:
        cubin = cubin_cache.keep(build.instance.source(variant.spec), build.arch).cubin
    except KernelCompileError as error:
        return [], [str(error)]
    rows = [
        f"{build.arch:<7} {entry:<28} {build.instance.label:<44} "
        f"{taken.num_registers:>3} registers "
        f"{taken.spill_store_bytes + taken.spill_load_bytes:>4} spilled bytes "
        f"{taken.static_shared_bytes:>6} static shared bytes"
        for entry, taken in resources(cubin).items()
    ]
    return rows, resource_faults(cubin, variant.directives) + claim_faults(
        cubin, variant.directives
    )
