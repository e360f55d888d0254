"""What a measurement was made with: date, versions, git commit."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGES = (
    "numpy", "torch", "cupy-cuda12x", "cupy-cuda13x", "triton", "jax", "flashinfer-python",
)  # fmt: skip

_ROOT = Path(__file__).resolve().parents[3]


def versions() -> dict[str, str]:
    """Return the versions of what is installed of the packages that count."""
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def git_commit() -> dict[str, Any] | None:
    """Return the commit of this checkout; None outside of one."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"id": commit, "is_dirty": _git("status", "--porcelain") != ""}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def environment() -> dict[str, Any]:
    """Return plain values for JSON."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": git_commit(),
        "versions": versions(),
    }
