"""What is written: every request in order, and every gap."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from paged.loadgen.record import Record
from paged.loadgen.report import write_report
from paged.loadgen.summary import Objective, summarize

RECORDS = [
    Record(
        index=1,
        due_s=None,
        sent_s=0.5,
        first_s=None,
        end_s=0.75,
        num_prompt_tokens=None,
        num_output_tokens=0,
        error='HTTP 500: "bad", worse',
    ),
    Record(
        index=0,
        due_s=0.25,
        sent_s=0.250001,
        first_s=0.5,
        end_s=1.0,
        num_prompt_tokens=3,
        num_output_tokens=3,
        gaps_s=(0.25, 0.125),
    ),
]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_requests_are_in_order_with_what_follows_from_their_times(tmp_path: Path) -> None:
    write_report(tmp_path / "new", RECORDS, summarize(RECORDS, Objective()), {"model": "m"})
    first, second = _rows(tmp_path / "new" / "requests.csv")
    assert first == {
        "index": "0",
        "due_s": "0.250000",
        "sent_s": "0.250001",
        "first_s": "0.500000",
        "end_s": "1.000000",
        "num_prompt_tokens": "3",
        "num_output_tokens": "3",
        "error": "",
        "ttft_s": "0.250000",
        "tpot_s": "0.250000",
        "latency_s": "0.750000",
        "normalized_s": "0.250000",
    }
    assert (second["index"], second["error"]) == ("1", 'HTTP 500: "bad", worse')
    assert second["ttft_s"] == second["num_prompt_tokens"] == ""


def test_gaps_and_settings_are_written(tmp_path: Path) -> None:
    write_report(tmp_path, RECORDS, summarize(RECORDS, Objective()), {"model": "m"})
    gaps = [(row["index"], row["gap_s"]) for row in _rows(tmp_path / "gaps.csv")]
    assert gaps == [("0", "0.250000"), ("0", "0.125000")]
    document = json.loads((tmp_path / "summary.json").read_text())
    assert (document["settings"], document["num_errors"]) == ({"model": "m"}, 1)


def test_equal_runs_are_written_alike(tmp_path: Path) -> None:
    for name, records in (("a", RECORDS), ("b", RECORDS[::-1])):
        write_report(tmp_path / name, records, summarize(records, Objective()), {})
    for name in ("requests.csv", "gaps.csv", "summary.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
