"""The package's public names, and that importing it costs neither torch nor numpy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import paged
from paged.kernel.choice import use_kernel


def test_use_kernel_is_public() -> None:
    assert paged.use_kernel is use_kernel
    assert paged.__all__ == ["use_kernel"]


def test_other_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'paged' has no attribute 'use_kernels'"):
        _ = paged.use_kernels  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_it_imports_nothing_heavy() -> None:
    script = "import sys, paged; sys.exit(bool({'torch', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
