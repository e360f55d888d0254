"""`paged kernels profile`: what a kernel's instructions do, by line, beside a GPU's roofline."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import torch

from paged.cli.command import Action
from paged.cli.kernels.target import FORMS, find_targets
from paged.errors import KernelSourceError
from paged.hardware import GPUS, find_gpu
from paged.kernel.cost import Roofline
from paged.kernel.measure.measurement import work_of
from paged.kernel.measure.workloads import find_workloads
from paged.kernel.ops.problems import why_unserved
from paged.kernel.profile import profile_kernel
from paged.kernel.profile_text import LEGEND, profile_lines

_CPU = torch.device("cpu")
_SEED = 1


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=FORMS)
    parser.add_argument(
        "--workload", action="append", default=[], metavar="NAME", help="may be repeated"
    )
    parser.add_argument(
        "--gpu",
        default="h100-sxm",
        metavar="NAME",
        help=f"whose data sheet is beside: {', '.join(GPUS)} (default: %(default)s)",
    )
    parser.add_argument(
        "--lines", type=int, default=12, metavar="N", help="of source (default: %(default)s)"
    )


def _run(arguments: Namespace) -> int:
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


ACTION = Action(add_arguments=_add_arguments, run=_run)
