"""`paged bench serve` against a server whose delays are known, and against our own."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from paged.cli.main import main
from tests.helpers.fake_server import FakeServer, Script, fake_server
from tests.helpers.live_server import live_server


def _bench(server: FakeServer, *flags: object) -> int:
    return main(["bench", "serve", "--url", server.url, *map(str, flags)])


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "requests.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def test_requests_that_are_alike_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_server(Script(first_s=0.05)) as server:
        flags = ("--num-requests", 4, "--prompt-tokens", 9, "--output-tokens", 3)
        assert _bench(server, *flags, "--out", tmp_path, "--slo-ttft-ms", 1) == 0
    assert server.most_at_once == 1
    assert {len(body["prompt"].split()) for body in server.bodies} == {9}
    assert {body["max_tokens"] for body in server.bodies} == {3}
    assert {body["model"] for body in server.bodies} == {"fake"}
    printed = capsys.readouterr()
    assert printed.out.startswith("4 requests in ")
    assert "(0.0% met the objective)" in printed.out
    assert "4/4" in printed.err
    assert [row["due_s"] for row in _rows(tmp_path)] == [""] * 4
    assert (tmp_path / "load.png").is_file()


def test_a_rate_makes_a_poisson_process_that_a_seed_fixes(tmp_path: Path) -> None:
    due: list[list[float]] = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with fake_server(Script()) as server:
            flags = ("--num-requests", 20, "--rate", 100, "--seed", seed)
            assert _bench(server, *flags, "--out", tmp_path / name) == 0
        due.append([float(row["due_s"]) for row in _rows(tmp_path / name)])
    assert due[0] == due[1] != due[2]
    assert 0.05 < due[0][-1] < 0.6
    assert len(set(due[0])) == 20


def test_a_trace_has_its_own_lengths_and_times(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("prompt_tokens,output_tokens,arrival_s\n5,2,7.0\n3,9,7.2\n400,1,7.3\n")
    with fake_server(Script()) as server:
        flags = ("--workload", trace, "--trace-times", "--max-model-len", 100, "--ignore-eos")
        assert _bench(server, *flags, "--out", tmp_path, "--prompt-ids", 50) == 0
    assert [len(body["prompt"]) for body in server.bodies] == [5, 3]
    assert [body["max_tokens"] for body in server.bodies] == [2, 9]
    assert all(body["ignore_eos"] for body in server.bodies)
    assert [float(row["due_s"]) for row in _rows(tmp_path)] == pytest.approx([0.0, 0.2])


def test_errors_make_it_fail_after_all_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = Script(status=400, body='{"error": {"message": "no such field"}}')
    with fake_server(refused) as server:
        flags = ("--num-requests", 3, "--concurrency", 3, "--out", tmp_path)
        assert _bench(server, *flags, "--extra-body", '{"frog": 1}') == 1
    assert all(body["frog"] == 1 for body in server.bodies)
    assert _summary(tmp_path)["errors"] == {"HTTP 400: no such field": 3}
    assert "error, 3 times: HTTP 400: no such field" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--concurrency", "0"], "--concurrency: expected at least 1, got 0"),
        (["--rate", "0"], "rate must be above 0"),
        (["--num-requests", "0"], "no request is left"),
        (["--workload", "nowhere.csv"], "nowhere.csv"),
        (["--workload", "alpaca-like", "--trace-times"], "records no timestamps"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_server(Script()) as server:
        assert _bench(server, *flags) == 2
    assert not server.bodies
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("paged bench")
    assert message in line


def test_flags_that_are_no_json_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), fake_server(Script()) as server:
        _bench(server, "--extra-body", "[]")
    assert "expected a JSON object, got '[]'" in capsys.readouterr().err


def test_no_server_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_server(Script()) as server:
        pass
    assert _bench(server) == 2
    assert "is a server up?" in capsys.readouterr().err


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_our_own_server_is_measured(tmp_path: Path, endpoint: str) -> None:
    with live_server() as server:
        flags = ["--num-requests", 6, "--prompt-tokens", 5, "--output-tokens", 8, "--ignore-eos"]
        flags += ["--concurrency", 3, "--out", tmp_path, "--endpoint", endpoint]
        flags += ["--prompt-ids", 250] if endpoint == "completions" else []
        # Bytes of a random model need not be text, so greedy draws might show none.
        flags += ["--extra-body", '{"guided_regex": "[a-z]{20}"}']
        assert main(["bench", "serve", "--url", server.url, *map(str, flags)]) == 0
        server.wait_until_empty()
    rows = _rows(tmp_path)
    assert [row["num_output_tokens"] for row in rows] == ["8"] * 6
    assert all(row["error"] == "" and float(row["ttft_s"]) > 0 for row in rows)
    if endpoint == "completions":
        assert [row["num_prompt_tokens"] for row in rows] == ["5"] * 6
