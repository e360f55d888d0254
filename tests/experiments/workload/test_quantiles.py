"""Lengths described by quantiles."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workload.errors import WorkloadError
from experiments.workload.quantiles import LengthQuantiles, from_quantiles

CSV = "quantile,prompt_tokens,output_tokens\n0,10,1\n0.5,20,2\n1,40,10\n"
KEY = "quantiles_0_to_1_step_0.005"


def summary(**changes: Any) -> dict[str, Any]:
    lengths = [float(10 + index) for index in range(200)] + [1010.0]
    return {"mean": 111.0, "p99.9": 300.0, KEY: lengths, **changes}


def write_json(path: Path, **models: Any) -> Path:
    path.write_text(json.dumps(models, indent=1))
    return path


def test_inversion_interpolates_and_rounds() -> None:
    quantiles = LengthQuantiles(
        levels=np.array([0.0, 0.5, 1.0]), lengths_tokens=np.array([10.0, 20.0, 40.0])
    )
    levels = np.array([0.0, 0.25, 0.5, 0.77, 1.0])
    assert quantiles.invert(levels).tolist() == [10, 15, 20, 31, 40]


def test_tail_power_bends_only_the_last_interval() -> None:
    quantiles = LengthQuantiles(
        levels=np.array([0.0, 0.5, 1.0]),
        lengths_tokens=np.array([10.0, 20.0, 1020.0]),
        tail_power=2.0,
    )
    levels = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert quantiles.invert(levels).tolist() == [10, 15, 20, 270, 1020]


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=8), st.floats(0.0, 5.0))
def test_inversion_is_monotone_and_within_range(lengths: list[int], power: float) -> None:
    quantiles = LengthQuantiles(
        levels=np.linspace(0, 1, len(lengths)),
        lengths_tokens=np.sort(np.array(lengths, dtype=float)),
        tail_power=power,
    )
    drawn = quantiles.invert(np.linspace(0, 1, 97))
    assert (np.diff(drawn) >= 0).all()
    assert min(lengths) <= drawn.min() <= drawn.max() <= max(lengths)


def test_csv_samples_follow_the_quantiles(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text(CSV)
    workload = from_quantiles(path, seed=1, num_requests=20_000)
    assert workload.name == "chat"
    assert "prompt and output independent" in workload.source
    assert np.quantile(workload.prompt_tokens, [0, 0.5, 1]) == pytest.approx([10, 20, 40], abs=1)
    assert workload.prompt_tokens.mean() == pytest.approx(22.5, rel=0.01)
    assert abs(np.corrcoef(workload.prompt_tokens, workload.output_tokens)[0, 1]) < 0.02
    again = from_quantiles(path, seed=1, num_requests=20_000)
    assert (workload.prompt_tokens == again.prompt_tokens).all()
    other = from_quantiles(path, seed=2, num_requests=20_000)
    assert (workload.prompt_tokens != other.prompt_tokens).any()


def test_empty_lengths_are_redrawn(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text(CSV.replace("0,10,1", "0,10,0").replace("0.5,20,2", "0.5,20,0"))
    workload = from_quantiles(path, seed=1, num_requests=1000)
    assert len(workload) == 1000
    assert workload.output_tokens.min() == 1


def test_json_tail_has_the_stated_mean(tmp_path: Path) -> None:
    path = write_json(tmp_path / "one.json", chat={
        "input_tokens": summary(), "output_tokens": summary(mean=109.6)
    })  # fmt: skip
    workload = from_quantiles(path, seed=1, num_requests=200_000)
    assert workload.name == "one-chat"
    assert workload.prompt_tokens.mean() == pytest.approx(110.0, rel=0.01)
    assert workload.prompt_tokens.max() > 300


@pytest.mark.parametrize(
    ("model", "message"),
    [(None, "say which model to take, one of a, b"), ("c", "has no model 'c'; it has a, b")],
)
def test_model_must_be_one_of_the_file(tmp_path: Path, model: str | None, message: str) -> None:
    fields = {"input_tokens": summary(), "output_tokens": summary()}
    path = write_json(tmp_path / "two.json", a=fields, b=fields)
    with pytest.raises(WorkloadError, match=message):
        from_quantiles(path, seed=1, num_requests=10, model=model)
    assert from_quantiles(path, seed=1, num_requests=10, model="b").name == "two-b"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("quantile,", "level,", "expected the columns quantile,prompt_tokens,output_tokens, got"),
        ("20,2", "20,x", ":3: output_tokens: expected a finite number"),
        ("20,2", "nan,2", ":3: prompt_tokens: expected a finite number"),
        ("0.5,20,2", "0.5,5,2", "never fall"),
        ("0,10,1", "0,-10,1", "never fall"),
        ("40,10", "40,1e9", "never fall"),
        ("0.5,", "1,", "rise from 0 to 1"),
        ("1,40,10", "0.99,40,10", "rise from 0 to 1"),
        ("0.5,20,2\n1,40,10\n", "", "at least two quantiles"),
    ],
)
def test_damaged_csv_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "chat.csv"
    path.write_text(CSV.replace(old, new))
    with pytest.raises(WorkloadError, match=message) as caught:
        from_quantiles(path, seed=1, num_requests=10)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "object with the field input_tokens"),
        ({"input_tokens": summary()}, "object with the field output_tokens"),
        ({"input_tokens": {"mean": 1.0}}, f"object with the field {KEY}"),
        ({"input_tokens": summary(**{KEY: [1.0, 2.0]})}, "a list of 201 quantiles"),
        ({"input_tokens": summary(**{KEY: "x"})}, "a list of 201 quantiles"),
        ({"input_tokens": summary(mean=None)}, "expected a finite number"),
        ({"input_tokens": summary(**{"p99.9": 5.0})}, "never fall"),
        ([], "object with the field input_tokens"),
    ],
)
def test_damaged_json_is_refused(tmp_path: Path, fields: Any, message: str) -> None:
    path = write_json(tmp_path / "bad.json", chat=fields)
    with pytest.raises(WorkloadError, match=message):
        from_quantiles(path, seed=1, num_requests=10)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("{")
    with pytest.raises(WorkloadError, match="malformed JSON"):
        from_quantiles(path, seed=1, num_requests=10)
    path.write_text("{}")
    with pytest.raises(WorkloadError, match="an empty object; expected quantiles by model"):
        from_quantiles(path, seed=0, num_requests=1)
    with pytest.raises(WorkloadError, match="No such file"):
        from_quantiles(tmp_path / "none.json", seed=1, num_requests=10)
    path.write_text(CSV)
    with pytest.raises(WorkloadError, match="leave the model out"):
        from_quantiles(path, seed=1, num_requests=10, model="chat")


@pytest.mark.parametrize(
    "model", ["language_m-small", "language_m-mid", "language_m-large", "reason_deepseek-r1"]
)
def test_real_quantiles_give_the_stated_statistics(traces_dir: Path, model: str) -> None:
    path = traces_dir / "servegen_length_quantiles.json.gz"
    stated = json.loads(gzip.decompress(path.read_bytes()))[model]
    workload = from_quantiles(path, seed=0, num_requests=300_000, model=model)
    columns = {"input_tokens": workload.prompt_tokens, "output_tokens": workload.output_tokens}
    for name, lengths in columns.items():
        assert lengths.mean() == pytest.approx(stated[name]["mean"], rel=0.03)
        assert np.median(lengths) == pytest.approx(stated[name]["median"], rel=0.03)
        assert np.percentile(lengths, 99) == pytest.approx(stated[name]["p99"], rel=0.03)
        assert lengths.max() <= stated[name]["max"]
