"""The tables' cells, exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments import paper
from experiments.report.results import load_results
from experiments.report.tables import detail_table, headline_table, paper_table, sweep_table

WORKLOAD = "sharegpt-like"


def _add_columns(folder: Path, **columns: str) -> None:
    path = folder / "fragmentation.csv"
    header, *rows = path.read_text().splitlines()
    lines = [",".join([header, *columns]), *(",".join([row, *columns.values()]) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_headline_rows_are_exact(write_results: Callable[..., Path]) -> None:
    table = headline_table(load_results(write_results()), WORKLOAD)
    assert [row[0] for row in table.rows] == [
        "reserved-max",
        "reserved-pow2",
        "reserved-oracle*",
        "reserved-oracle-best-fit*",
        "virtual",
        "paged",
    ]
    assert table.rows[-1] == (
        *("paged", "97.1±0.3", "1.6±0.0", "0.0±0.0", "0.0±0.0", "0.0±0.0", "1.3±0.3"),
        *("34.3±0.0", "1.10±0.00", "99.5±0.0"),
    )
    notes = " ".join(table.notes)
    assert "saturated arrivals" in notes
    assert "unreachable in practice" in notes


def test_oracles_are_explained_only_where_they_ran(write_results: Callable[..., Path]) -> None:
    table = headline_table(load_results(write_results("paged")), WORKLOAD)
    assert "oracle" not in " ".join(table.notes)


def test_weights_that_matter_and_short_runs_are_named(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged", "reserved-max")
    _add_columns(folder, token_per_step_pct="97.5", is_steady_window="0")
    notes = headline_table(load_results(folder), WORKLOAD).notes
    assert notes[-2].endswith("so the whole run counts: reserved-max, paged.")
    assert notes[-1] == "token % if all steps weighed the same: reserved-max 97.5."


def test_arms_that_memory_seldom_binds_are_named(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged", "reserved-max")
    assert not any(
        "Not bound" in note for note in headline_table(load_results(folder), WORKLOAD).notes
    )
    path = folder / "fragmentation.csv"
    lines = path.read_text().splitlines()
    changed = [line.replace("99.5000", "4.7000") if "paged" in line else line for line in lines]
    path.write_text("\n".join(changed) + "\n")
    (note,) = [
        note
        for note in headline_table(load_results(folder), WORKLOAD).notes
        if note.startswith("Not bound by memory all the time: paged 4.7 %.")
    ]
    assert "compare them with care" in note


def test_beside_the_paper_every_third_row_is_the_difference(
    write_results: Callable[..., Path],
) -> None:
    table = paper_table(load_results(write_results()), WORKLOAD)
    assert table is not None
    assert table.rows[:3] == (
        ("reserved-max", "ours", "20.5", "13.7", "56.9", "8.9", "7.00"),
        ("", "Orca (Max)", "20.4", "13.3", "57.3", "8.9", "7.00"),
        ("", "difference", "+0.1", "+0.4", "-0.4", "+0.0", "+0.0"),
    )
    # rounding (20.4) and free (16.5) are both the paper's "external & others"
    assert table.rows[6] == ("reserved-oracle*", "ours", "38.1", "25.0", "0.0", "36.9", "13.40")


def test_the_arrival_limited_batch_is_never_subtracted(write_results: Callable[..., Path]) -> None:
    table = paper_table(load_results(write_results()), WORKLOAD)
    assert table is not None
    assert table.rows[-2:] == (
        ("", "vLLM", "96.3", "-", "-", "-", "30.42†"),
        ("", "difference", "+0.8", "-", "-", "-", "-"),
    )
    assert table.notes[-1] == f"† {paper.BATCH_NOTE}"


def test_another_pool_is_not_beside_the_paper(write_results: Callable[..., Path]) -> None:
    folder = write_results()
    path = folder / "fragmentation.csv"
    path.write_text(path.read_text().replace("15728", "20000"))
    assert paper_table(load_results(folder), WORKLOAD) is None


def test_details_show_only_what_was_measured(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged")
    assert detail_table(load_results(folder), WORKLOAD) is None
    _add_columns(folder, p99_batch="41", mean_ttft_s="", throughput_tokens_per_s="812.4")
    table = detail_table(load_results(folder), WORKLOAD)
    assert table is not None
    assert table.header == ("allocator", "p99 batch", "tokens/s")
    assert table.rows == (("paged", "41.0±0.0", "812±0"),)


def test_sweep_has_a_row_for_each_value(write_results: Callable[..., Path]) -> None:
    results = load_results(write_results())
    assert results.watermark is not None
    table = sweep_table(results.watermark, "watermark", "watermark", "Watermark")
    assert [(row[1], row[2], row[9]) for row in table.rows] == [
        ("0", "97.2±0.3", "1.90±0.00"),
        ("0.01", "97.1±0.3", "1.10±0.00"),
        ("0.05", "95.0±0.3", "0.29±0.00"),
        ("0.1", "91.2±0.3", "0.08±0.00"),
    ]
