"""`paged kernels profile`: what a kernel's instructions do, by line, beside a GPU's roofline."""

from __future__ import annotations

from argparse import Namespace

import torch

from paged.cli.kernels.target import find_targets
from paged.errors import KernelSourceError
from paged.hardware import find_gpu
from paged.kernel.cost import Roofline
from paged.kernel.measure.measurement import work_of
from paged.kernel.measure.workloads import find_workloads
from paged.kernel.ops.problems import why_unserved
from paged.kernel.profile import profile_kernel
from paged.kernel.profile_text import LEGEND, profile_lines

_CPU = torch.device("cpu")
_SEED = 1


def run_profile(arguments: Namespace) -> int:
    """Print what kernels do, by line of source; return the exit status."""
    if arguments.lines < 0:
        raise KernelSourceError(f"--lines must be at least 0, got {arguments.lines}")
    gpu = find_gpu(arguments.gpu)
    roofline = Roofline(bytes_per_s=gpu.memory_bandwidth_bytes_per_s, flops_per_s=gpu.flops_per_s)
    for variant in find_targets(arguments.targets):
        for workload in find_workloads(variant.op.name, _CPU, arguments.workload):
            head = f"{variant.op.name}={variant.name} on {workload.name}"
            problem = workload.build(_CPU, _SEED)
            why = why_unserved(variant.spec, problem)
            if why is not None:
                print(f"{head}: not served: {why}\n")
                continue
            work = work_of(workload.op, problem)
            profile = profile_kernel(variant.spec, problem)
            lines = profile_lines(profile, work, roofline, gpu=gpu.name, num_lines=arguments.lines)
            print("\n".join([f"{head}:", *lines, ""]), flush=True)
    print(LEGEND)
    return 0
