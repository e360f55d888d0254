"""`paged doctor`: every part is printed, with marks and reasons."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from paged.cli.doctor import installed, lines
from paged.cli.main import main
from paged.kernel import diagnosis
from paged.kernel.diagnosis import Verdict

PARTS = ("compilers", "toolkits", "disassemblers", "devices", "backends")


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each part of the diagnosis find two things named after it."""
    for part in PARTS:

        def examine(part: str = part) -> Iterator[Verdict]:
            yield Verdict(name=f"good {part}", is_usable=True, text="1.0")
            yield Verdict(name=f"bad {part}", is_usable=False, text="broken")

        monkeypatch.setattr(diagnosis, part, examine)


def test_every_part_is_printed_and_the_status_is_0(
    verdicts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out.splitlines()
    for part in PARTS:
        assert any(line.split() == ["ok", "good", part, "1.0"] for line in printed)
        assert any(line.split() == ["--", "bad", part, "broken"] for line in printed)
    titles = ["packages", "compilers", "CUDA toolkits", "disassemblers", "devices", "backends"]
    assert [line for line in printed[1:] if not line.startswith(" ")] == titles


def test_installed_packages_have_their_versions(
    verdicts: None, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor"])
    assert ["torch", version("torch")] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


def test_packages_that_are_not_installed_are_left_out() -> None:
    found = dict(installed(["no-such-package", "numpy"]))
    assert found == {"numpy": version("numpy")}


def test_without_torch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("  --  torch is not installed; pip install 'paged[model]'\n")
    assert "backends" not in printed


def test_a_reason_of_several_lines_stays_below_its_name() -> None:
    verdict = Verdict(name="NVRTC", is_usable=False, text="none found:\n  here\n  there")
    assert list(lines([verdict])) == [
        "  --  NVRTC             none found:",
        "                        here",
        "                        there",
    ]
