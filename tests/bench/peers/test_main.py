"""The contest's command line: whoever does not start is left out in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.peers import __main__ as contest
from bench.peers.entries import Entry
from paged.errors import ModelFileError


def _missing() -> Path:
    raise ModelFileError("the model is not downloaded: run `paged download`")


def _entry(name: str, worker: str, *, has_model: bool = True) -> Entry:
    model = (lambda: "tiny") if has_model else _missing
    return Entry(name=name, peer=name, bits=16, worker=worker, model=model, options={})


def test_the_contest_goes_on_without_those_that_do_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        _entry("lost", "no_such_worker"),
        _entry("bare", "paged_worker", has_model=False),
        _entry("gone", "paged_worker"),
    ]
    pythons = {"lost": Path(sys.executable), "bare": Path(sys.executable), "gone": None}
    monkeypatch.setattr(contest, "ENTRIES", entries)
    monkeypatch.setattr(contest, "python_of", lambda entry, _: pythons[entry.name])
    assert contest.main(["--threads", "1", "--rounds", "1"]) == 0
    printed = capsys.readouterr()
    outs = [line for line in printed.err.splitlines() if "left out" in line]
    assert [line.split()[0] for line in outs] == ["lost", "bare", "gone"]
    assert "the peer ended with status 1 at 'open'" in outs[0]
    assert outs[0].endswith("No module named bench.peers.no_such_worker")
    assert outs[1].endswith("left out: the model is not downloaded: run `paged download`")
    assert "Traceback" not in printed.err
    assert printed.out.startswith("output tokens/s on 1 threads")
