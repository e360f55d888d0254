"""What is fitted and what is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.batching_options import BatchingOptions
from experiments.batching_run import run


def test_only_the_half_that_was_fitted_is_not_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        BatchingOptions(
            model="tiny",
            num_requests=3,
            rounds=1,
            seeds=2,
            allocators=("paged", "static"),
            fit="paged",
            out=tmp_path / "out",
            json=True,
        )
    )
    rows = json.loads(capsys.readouterr().out)
    fitted, *others = sorted(rows, key=lambda row: -row["first_scored_step"])
    assert (fitted["allocator"], fitted["seed"]) == ("paged", 0)
    assert fitted["first_scored_step"] == fitted["num_steps"] // 2
    assert fitted["scored_tokens_per_s"] != fitted["tokens_per_s"]
    assert len(others) == 3
    for row in others:
        assert row["first_scored_step"] == 0
        assert row["scored_tokens_per_s"] == row["tokens_per_s"]
