"""The package's public names, and that importing it costs neither torch nor numpy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import paged
from paged.engine.llm import LLM
from paged.kernel.choice import use_kernel
from paged.sampling_params import SamplingParams


def test_public_names_are_those_of_their_modules() -> None:
    assert paged.use_kernel is use_kernel
    assert paged.LLM is LLM
    assert paged.SamplingParams is SamplingParams
    assert [getattr(paged, name).__name__ for name in paged.__all__] == paged.__all__


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'paged' has no attribute 'use_kernels'"):
        _ = paged.use_kernels  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_it_imports_nothing_heavy() -> None:
    script = "import sys, paged; sys.exit(bool({'torch', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
