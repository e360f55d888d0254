"""`paged kernels bench`: time kernels beside the hardware's limits and their peers."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from paged.cli.kernels.target import find_targets
from paged.errors import KernelSourceError
from paged.kernel.backends.cuda_driver import why_unavailable
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.measure.bandwidth import Hardware, measure_hardware
from paged.kernel.measure.candidate import kernel_candidate
from paged.kernel.measure.environment import environment
from paged.kernel.measure.measurement import Measurement, measure
from paged.kernel.measure.peers import peers_of
from paged.kernel.measure.table import BYTES_LEGEND, CLOCK_LEGEND, LEGEND, hardware_line, table
from paged.kernel.measure.workloads import find_workloads
from paged.kernel.variant import Variant

NO_HARDWARE = (
    "Times are those of the interpreter on this CPU, which are no measure of a kernel on a GPU; "
    "the peers' are torch's on the CPU."
)


def run_bench(arguments: Namespace) -> int:
    """Time kernels and print tables; return the exit status, 1 for a wrong result."""
    device = torch.device(arguments.device)
    if arguments.rounds < 3:
        raise KernelSourceError(f"--rounds must be at least 3, got {arguments.rounds}")
    reason = why_unavailable() if device.type == "cuda" else None
    if reason is not None:
        raise KernelSourceError(f"no CUDA device to time on: {reason}")
    targets: dict[str, list[Variant]] = {}
    for variant in find_targets(arguments.targets):
        targets.setdefault(variant.op.name, []).append(variant)
    plan = [(op, find_workloads(op, device, arguments.workload)) for op in targets]
    if device.type == "cpu":
        print(NO_HARDWARE, flush=True)
    hardware = measure_hardware(device)
    print(hardware_line(hardware))
    measurements: list[Measurement] = []
    for op, workloads in plan:
        for workload in workloads:
            candidates = [
                kernel_candidate(label, variant.spec, InterpretConfig())
                for label, variant in labelled(targets[op]).items()
            ]
            candidates += peers_of(workload, device)
            measurements.append(
                measure(workload, candidates, hardware, num_rounds=arguments.rounds)
            )
            print("\n".join(["", *table(measurements[-1])]), flush=True)
            if arguments.json is not None:
                write_json(arguments.json, hardware, measurements)
    print(f"\n{LEGEND}\n{BYTES_LEGEND}" + (f"\n{CLOCK_LEGEND}" if device.type == "cuda" else ""))
    faults = [r for m in measurements for r in m.results if r.fault is not None and not r.is_peer]
    return 1 if faults else 0


def labelled(variants: Sequence[Variant]) -> dict[str, Variant]:
    """Return each kernel once, under a name that no other has.

    Shipped ones keep their names, others are called after their file, by path where files of
    one name are compared.
    """
    by_path = {variant.path: variant for variant in variants}
    file_names = [path.name for path in by_path]
    labels: dict[str, Variant] = {}
    for path, variant in by_path.items():
        if path.parent == variant.op.variants_dir:
            labels[variant.name] = variant
        else:
            labels[path.name if file_names.count(path.name) == 1 else str(path)] = variant
    return labels


def write_json(path: Path, hardware: Hardware, measurements: list[Measurement]) -> None:
    """Write what was measured so far, whole or not at all."""
    document: dict[str, Any] = {
        **environment(),
        "hardware": hardware.as_dict(),
        "results": [row for measurement in measurements for row in measurement.rows()],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n")
    partial.replace(path)
