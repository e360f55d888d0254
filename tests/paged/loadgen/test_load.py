"""Whole runs against a server whose delays are known."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paged.loadgen.client import Target
from paged.loadgen.load import Load, Outcome, fixed_lengths, run_load
from paged.loadgen.prompts import Prompts
from paged.loadgen.summary import Objective
from tests.helpers.fake_server import FakeServer, Script, fake_server


def _run(
    server: FakeServer,
    num_requests: int,
    *,
    arrivals: list[float] | None = None,
    max_concurrency: int | None = None,
    **objective: Any,
) -> tuple[Load, Outcome]:
    workload = fixed_lengths(6, 3)(0, num_requests)
    load = Load(
        workload=workload,
        prompts=Prompts(workload, seed=0),
        arrivals=None if arrivals is None else np.array(arrivals),
        max_concurrency=max_concurrency,
    )
    target = Target(url=server.url, model="fake")
    return load, run_load(load, target, Objective(**objective))


def test_a_slow_server_does_not_slow_arrivals_and_what_waits_there_counts() -> None:
    """One answer at a time, 0.2 s each: the last of four that arrive together waits for 0.8 s."""
    with fake_server(Script(first_s=0.1, gap_s=0.05), num_at_once=1) as server:
        _, outcome = _run(server, 4, arrivals=[0.0, 0.0, 0.0, 0.0], ttft_s=0.29)
    assert len(server.bodies) == 4
    assert max(record.sent_s for record in outcome.records) < outcome.records[0].end_s
    waits = sorted(record.ttft_s or 0.0 for record in outcome.records)
    assert all(wait >= 0.1 + 0.2 * place - 0.02 for place, wait in enumerate(waits))
    assert outcome.summary.num_good <= 1
    assert outcome.summary.num_errors == 0
    assert outcome.summary.num_output_tokens == 12
    assert outcome.summary.num_prompt_tokens == 28


def test_requests_without_times_keep_so_many_at_work() -> None:
    with fake_server(Script(first_s=0.05)) as server:
        load, outcome = _run(server, 9, max_concurrency=3)
    assert server.most_at_once == 3
    assert len({body["prompt"] for body in server.bodies}) == 9
    assert outcome.summary.num_requests == 9
    assert load.description == "9 requests of 6+3 tokens, 3 at once, each when another ends"


def test_errors_are_counted_and_the_rest_is_measured() -> None:
    def answer(body: dict[str, Any]) -> Script:
        is_odd = len(body["prompt"]) % 2
        return Script(status=503, body='{"error": "full"}') if is_odd else Script()

    with fake_server(answer) as server:
        _, outcome = _run(server, 12, max_concurrency=2)
    num_odd = sum(len(body["prompt"]) % 2 for body in server.bodies)
    assert 0 < num_odd < 12
    assert outcome.summary.errors == {"HTTP 503: full": num_odd}
    assert outcome.summary.num_good == 12 - num_odd


def test_the_report_has_every_request_and_a_picture(tmp_path: Path) -> None:
    with fake_server(Script(gap_s=0.01)) as server:
        load, outcome = _run(server, 5, arrivals=[0.0, 0.01, 0.02, 0.02, 0.03])
    outcome.write(tmp_path, load, Target(url=server.url, model="fake"), seed=7)
    assert len((tmp_path / "requests.csv").read_text().splitlines()) == 6
    assert len((tmp_path / "gaps.csv").read_text().splitlines()) == 11
    settings = json.loads((tmp_path / "summary.json").read_text())["settings"]
    assert settings["load"] == "5 requests of 6+3 tokens within 0.0 s"
    assert (settings["model"], settings["server"]) == ("fake", f"{server.url}/v1/")
    assert (settings["seed"], settings["was_interrupted"]) == (7, False)
    assert (tmp_path / "load.png").read_bytes().startswith(b"\x89PNG")


def _interrupt() -> None:
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def test_an_interrupt_keeps_what_there_is() -> None:
    def answer(body: dict[str, Any]) -> Script:
        if len(server.bodies) == 3:
            threading.Timer(0.2, _interrupt).start()
        return Script(gap_s=0.0 if len(server.bodies) < 3 else 30.0)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with fake_server(answer) as server:
            _, outcome = _run(server, 50, max_concurrency=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome.was_interrupted
    assert [record.index for record in outcome.records] == [0, 1]


def test_a_workload_of_no_requests_is_refused() -> None:
    with pytest.raises(ValueError, match="no request is left"):
        fixed_lengths(4, 4)(0, 0)
