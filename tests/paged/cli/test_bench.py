"""The group `paged bench`."""

from __future__ import annotations

import pytest

from paged.cli.main import main


def test_it_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "--help"])
    assert caught.value.code == 0
    assert "put load on any OpenAI-compatible server" in capsys.readouterr().out


def test_a_command_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench"])
    assert caught.value.code == 2
    assert "paged bench: error: " in capsys.readouterr().err
