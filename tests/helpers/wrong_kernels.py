"""Known-wrong kernels: one fault each, with the kind and the line that a sanitizer must name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar

FOLDER = Path(__file__).resolve().parents[1] / "kernels_cu" / "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongKernel:
    """A kernel `wrong(x, y, n)` over n elements, and its fault.

    Attributes:
        line: None where the fault is not of one line.

    """

    path: Path
    spec: KernelSpec
    num_elements: int
    timeout_s: float
    kind: str
    line: int | None

    @property
    def operands(self) -> tuple[torch.Tensor]:
        """What it is called with."""
        return (torch.arange(self.num_elements, dtype=torch.float32),)


def wrong_kernels() -> dict[str, WrongKernel]:
    """Return all of them by name."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.cu"))}


def _read(path: Path) -> WrongKernel:
    text = path.read_text()
    geometry = {
        name: int(n) for name, n in re.findall(r"(grid|block|shared|elements|timeout) (\d+)", text)
    }
    marks = [
        (kind, number)
        for number, line in enumerate(text.splitlines(), 1)
        for kind in re.findall(r"// here: (\w+)$", line)
    ]
    marks += [(kind, None) for kind in re.findall(r"// without a line: (\w+)$", text, re.MULTILINE)]
    ((kind, line),) = marks
    launch = Launch(
        entry="wrong",
        grid=geometry["grid"],
        block=geometry["block"],
        shared_bytes=geometry.get("shared", 0),
    )
    spec = KernelSpec(
        name="wrong",
        source=path,
        launches=(launch,),
        operands=(
            Operand(name="x", shape="n", dtype="float32"),
            Operand(name="y", shape="n", dtype="float32", intent="out"),
        ),
        scalars=(Scalar(name="num", dtype="int32", value="n"),),
    )
    num_threads = prod((geometry["grid"], geometry["block"]))
    return WrongKernel(
        path=path,
        spec=spec,
        num_elements=geometry.get("elements", num_threads),
        timeout_s=geometry.get("timeout", 60),
        kind=kind,
        line=line,
    )
