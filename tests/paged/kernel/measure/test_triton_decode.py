"""Our decode kernel in Triton, in Triton's own interpreter where Triton is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = """
from paged.kernel.measure.candidate import Candidate, fault_of
from paged.kernel.measure.outside_peers import triton
from tests.helpers.measured import CPU, with_shape

for changes in (
    {"seq_lens": (130, 7, 64, 1), "head_dim": 64, "q_t": "float16", "kv_t": "float16"},
    {"seq_lens": (300, 1), "group_size": 1},
):
    problems = [with_shape(**changes).build(CPU, seed) for seed in (1, 2)]
    fault = fault_of(Candidate(name="triton", prepare=triton), "attention", problems)
    assert fault is None, fault
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_decode_is_right(repository: Path) -> None:
    # the interpreter is chosen when Triton is imported, so in a process of its own
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
