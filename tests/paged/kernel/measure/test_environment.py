"""Results say what they were made with."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from paged.kernel.measure import environment as module
from paged.kernel.measure.environment import environment, git_commit, versions


def test_versions_are_those_installed() -> None:
    assert versions()["torch"] == torch.__version__
    assert "python" in versions()


def test_outside_of_a_checkout_there_is_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    assert git_commit() is None


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_commit() is None


def test_a_checkout_has_its_commit(repository: Path) -> None:
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    commit = environment()["git"]
    assert len(commit["id"]) == 40
