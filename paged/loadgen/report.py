"""A run on disk: requests.csv, gaps.csv and summary.json."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from io import StringIO
from pathlib import Path

from paged.loadgen.record import Record
from paged.loadgen.summary import Summary

_STORED = tuple(each.name for each in fields(Record) if each.name != "gaps_s")
_DERIVED = ("ttft_s", "tpot_s", "latency_s", "normalized_s")


def write_report(
    folder: Path, records: Sequence[Record], summary: Summary, settings: Mapping[str, object]
) -> None:
    """Write a run into a folder, which is made. settings: what the run was of, for summary.json."""
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(records, key=lambda record: record.index)
    columns = (*_STORED, *_DERIVED)
    rows = ([_cell(getattr(record, name)) for name in columns] for record in ordered)
    _write_csv(folder / "requests.csv", columns, rows)
    gaps = ((record.index, _cell(gap_s)) for record in ordered for gap_s in record.gaps_s)
    _write_csv(folder / "gaps.csv", ("index", "gap_s"), gaps)
    document = {"settings": dict(settings), **summary.as_dict()}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "summary.json").write_text(f"{text}\n", encoding="utf-8")


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")


def _cell(value: object) -> object:
    """Write times to the microsecond."""
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else value
