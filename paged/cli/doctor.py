"""`paged doctor`: what works on this machine, and why the rest does not."""

from __future__ import annotations

import importlib.util
import os
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from paged.cli.command import Action
from paged.extras import not_installed

if TYPE_CHECKING:
    from paged.kernel.diagnosis import Verdict

PACKAGES = (
    *("paged", "numpy", "torch", "triton", "cupy-cuda12x", "cupy-cuda13x"),
    *("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime"),
    *("nvidia-cuda-nvdisasm", "nvidia-cuda-cuobjdump"),
)
"""Distributions that decide which backends work."""


def installed(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and versions of those distributions that are installed."""
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def lines(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Write each verdict as one line, or more where its reason takes more."""
    for verdict in verdicts:
        mark = "ok" if verdict.is_usable else "--"
        first, *rest = verdict.text.splitlines() or [""]
        yield f"  {mark}  {verdict.name:<16}  {first}"
        yield from (f"{'':<24}{line.strip()}" for line in rest)


def _add_arguments(_parser: ArgumentParser) -> None:
    """Declare nothing: the examination takes no flags."""


def _run(_arguments: Namespace) -> int:
    cores = len(os.sched_getaffinity(0))
    print(f"{platform.system()} {platform.machine()}, {cores} cores, Python", end=" ")
    print(platform.python_version())
    print("packages")
    for name, installed_version in installed(PACKAGES):
        print(f"      {name:<26}  {installed_version}")
    if importlib.util.find_spec("torch") is None:
        print(f"kernels\n  --  {not_installed('torch')}")
        return 0
    _print_kernels()
    return 0


def _print_kernels() -> None:
    from paged.kernel import diagnosis

    parts = {
        "compilers": diagnosis.compilers,
        "CUDA toolkits": diagnosis.toolkits,
        "disassemblers": diagnosis.disassemblers,
        "devices": diagnosis.devices,
        "backends": diagnosis.backends,
    }
    for title, examine in parts.items():
        print(title, flush=True)
        for line in lines(examine()):
            print(line, flush=True)


ACTION = Action(add_arguments=_add_arguments, run=_run)
