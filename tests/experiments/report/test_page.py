"""The page: self-contained, escaped, complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.report.page import headline, render_page
from experiments.report.results import load_results
from experiments.report.slot_classes import SLOT_CLASSES

VOID = {"meta", "img", "br", "link", "hr", "input"}


class _Page(HTMLParser):
    """Collect what a browser would fetch, table captions, and check nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _parse(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def test_the_page_fetches_nothing_and_is_well_formed(write_results: Callable[..., Path]) -> None:
    text = render_page(load_results(write_results()), [])
    page = _parse(text)
    assert all(target.startswith(("#", "data:image/png;base64,")) for target in page.fetched)
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text


def test_every_table_definition_and_row_count_is_there(write_results: Callable[..., Path]) -> None:
    text = render_page(load_results(write_results()), [])
    for title in ("KV pool by slot class", "Beside the paper", "Block size", "Watermark"):
        assert f"<h3>{title}" in text
    assert all(one.label in text for one in SLOT_CLASSES)
    for cell in ("2,400", "2,300", "dropped: prompt + output exceeds max_model_len 2048", "100"):
        assert f"<td>{cell}</td>" in text
    assert "python -m experiments.report DIR" in text


def test_values_are_escaped(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged")
    path = folder / "fragmentation.csv"
    path.write_text(path.read_text().replace("sharegpt-like", "<script>x</script>"))
    text = render_page(load_results(folder), [])
    assert "<script>" not in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "synthetic &lt;b&gt;&amp;&lt;/b&gt; seeded" in text


def test_headline_needs_both_ends(write_results: Callable[..., Path]) -> None:
    assert headline(load_results(write_results())) == (
        "On sharegpt-like, paged fills 97.1 % of the pool with token states, reserved-max"
        " 20.5 %: 4.7 times as much, at 1.10 preemptions per completed request."
    )
    assert headline(load_results(write_results("paged"))) is None


def test_headline_says_what_it_comes_to_where_that_was_measured(
    write_results: Callable[..., Path],
) -> None:
    folder = write_results()
    header, *rows = (folder / "fragmentation.csv").read_text().splitlines()
    rates = {"paged": 330, "reserved-max": 100}
    rows = [f"{row},{rates.get(row.split(',')[1], 200)}" for row in rows]
    text = "\n".join([f"{header},throughput_tokens_per_s", *rows, ""])
    (folder / "fragmentation.csv").write_text(text)
    said = headline(load_results(folder)) or ""
    assert ": 4.7 times as much, for 3.3 times the tokens per simulated second, at 1.10 " in said


def test_settings_read_as_text(write_results: Callable[..., Path]) -> None:
    folder = write_results("paged")
    run = json.loads((folder / "run.json").read_text())
    run["gpu_spec"] = {"flops_per_s": 312e12, "mean": 160.00613496932516, "of": ["a", "b"]}
    (folder / "run.json").write_text(json.dumps(run))
    text = render_page(load_results(folder), [])
    for cell in ("312,000,000,000,000", "160.006", "a, b", "0, 1, 2"):
        assert f"<td>{cell}</td>" in text


def test_a_bare_folder_still_makes_a_page(write_results: Callable[..., Path]) -> None:
    text = render_page(load_results(write_results("paged", is_minimal=True)), [])
    _parse(text)
    assert "has no run.json" in text


@pytest.mark.parametrize("name", ["reserved-oracle", "reserved-oracle-best-fit"])
def test_oracles_say_that_they_are_out_of_reach(
    write_results: Callable[..., Path], name: str
) -> None:
    text = render_page(load_results(write_results(name)), [])
    assert "<i>unreachable in practice</i>" in text
    assert "An oracle is told each request&#39;s true output length" in text
