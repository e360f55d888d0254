"""The table at the end of a benchmark run."""

from __future__ import annotations

from dataclasses import replace

from bench.compare import Comparison, Times
from bench.report import by_rivals, table


def times(mean_us: float) -> Times:
    return Times.of([mean_us, mean_us], work_per_round=1.0, num_chunks=2)


def test_times_ratios_and_goal_are_in_the_row() -> None:
    comparison = Comparison(
        unit="step", ours=times(50.0), rivals={"vllm": times(1000.0)}, goal_us=100.0
    )
    heading, row, _ = table({"test_step[1]": comparison})
    assert row.split("  ")[0] == "test_step[1]"
    assert "0.50 of 100" in row
    assert row.endswith("1000 (x 20)")
    assert row.index("1000 (x 20)") == heading.index("vLLM")


def test_a_missing_rival_is_a_dash() -> None:
    alone = Comparison(unit="block", ours=times(0.5), rivals={})
    paired = Comparison(unit="block", ours=times(0.5), rivals={"yardstick": times(1.0)})
    heading, row, _, _ = table({"a": alone, "b": paired})
    assert heading.split()[-1] == "yardstick"
    assert row.split() == ["a", "block", "0.5", "0.5", "-", "-"]


def test_bytes_of_kernels_have_a_column() -> None:
    kernel = Comparison(
        unit="call", ours=times(1.0), rivals={}, notes={"bytes_over_minimum": "1.02"}
    )
    other = Comparison(unit="call", ours=times(1.0), rivals={"sdpa": times(1.0)})
    heading, first, second, _, legend = table({"a": kernel, "b": other})
    assert heading.split()[-4:] == ["bytes", "over", "minimum", "sdpa"]
    assert first.split()[-2:] == ["1.02", "-"]
    assert second.split()[5:7] == ["-", "1"]
    assert legend.startswith("bytes over minimum: ")
    uncounted = replace(kernel, notes={"bytes_over_minimum": ""})
    assert table({"a": uncounted})[1].split()[-1] == "-"


def test_throughput_has_a_column_where_it_is_told() -> None:
    told = Comparison(unit="call", ours=times(1.0), rivals={}, notes={"throughput": "2 MB/s"})
    heading, first, second, _ = table({"a": told, "b": replace(told, notes={})})
    assert heading.split()[-1] == "throughput"
    assert first.endswith("2 MB/s")
    assert second.split()[-1] == "-"


def test_a_rival_that_wins_keeps_two_digits() -> None:
    comparison = Comparison(unit="block", ours=times(2000.0), rivals={"yardstick": times(9.0)})
    assert "9 (x 0.0045)" in table({"a": comparison})[1]


def test_what_shares_rivals_shares_a_table() -> None:
    def beside(*rivals: str) -> Comparison:
        return Comparison(unit="call", ours=times(1.0), rivals={r: times(1.0) for r in rivals})

    comparisons = {
        "a": beside("yardstick", "vllm"),
        "b": beside("sdpa"),
        "c": beside("yardstick"),
        "d": beside(),
        "e": beside(),
    }
    assert [list(group) for group in by_rivals(comparisons)] == [["a", "c"], ["b"], ["d", "e"]]
