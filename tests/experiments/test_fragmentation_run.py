"""A run that is stopped, at any point, leaves nothing."""

from __future__ import annotations

import pytest

from experiments import fragmentation_run
from experiments.command import BAD_INPUT, INTERRUPTED
from experiments.fragmentation import main

SMALL = ["--num-requests", "20", "--seeds", "1", "--allocators", "paged", "--no-ablations"]


@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (KeyboardInterrupt(), (INTERRUPTED, "interrupted: nothing was written")),
        (OSError(28, "disk full"), (BAD_INPUT, "error: [Errno 28] disk full")),
    ],
)
@pytest.mark.parametrize("name", ["run_jobs", "write_results", "write_report"])
def test_a_run_that_is_stopped_leaves_nothing(
    name, raised, answer, *, tmp_path, monkeypatch, capsys
):
    def stop(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(fragmentation_run, name, stop)
    status = main([*SMALL, "--jobs", "1", "--out", str(tmp_path / "out")])
    assert (status, capsys.readouterr().err.splitlines()[-1]) == answer
    assert list(tmp_path.iterdir()) == []
