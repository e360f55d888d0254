"""What a command printed."""

from __future__ import annotations

import pytest


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what was printed, with nothing on stderr."""
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()
