"""`paged serve` as a process: it starts, drains at SIGTERM, and refuses in one line."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from paged.cli.main import main

TINY = ["tiny", "--dtype", "float32", "--device", "cpu", "--max-model-len", "96"]
NAMES = ["--served-model-name", "a/b", "--served-model-name", "c"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let processes heed Ctrl-C: jobs of a shell may be told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def serving(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command, wait for its line and yield its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "paged.cli.main", "serve", *TINY, "--port", "0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"paged serves (\S+) at (http://[\d.:]+): \d+ blocks", line)
            assert found, (line, process.stderr and process.stderr.read())
            yield process, found[2]
        finally:
            process.kill()


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_what_has_begun_when_it_is_told_to_stop(told: signal.Signals) -> None:
    with serving(*NAMES, "--api-key", "k") as (process, url):
        headers = {"authorization": "Bearer k"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            assert [card["id"] for card in client.get("/v1/models").json()["data"]] == ["a/b", "c"]
            body = {"prompt": "a", "max_tokens": 80, "ignore_eos": True, "stream": True}
            with client.stream("POST", "/v1/completions", json=body) as answer:
                lines = answer.iter_lines()
                assert next(lines).startswith("data: ")
                process.send_signal(told)
                *_, last, _ = lines
        assert last == "data: [DONE]"
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == (
            "loading tiny\nstopping: 1 requests may end within 60 s; Ctrl-C ends them now\n"
        )


def test_at_level_info_each_request_is_logged() -> None:
    with serving("--uvicorn-log-level", "info") as (process, url):
        assert httpx.get(f"{url}/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert '"GET /health HTTP/1.1" 200' in process.stdout.read()


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_it_as_it_ends_every_command() -> None:
    with serving() as (process, url):
        assert httpx.get(f"{url}/health").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 128 + signal.SIGINT
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tensor-parallel-size", "2"], "tensor-parallel-size: expected 1, got 2"),
        (["--port", "70000"], "port: expected 0 to 65535"),
        (["--api-key", ""], "api_keys: expected texts"),
        (["--ssl-keyfile", "x"], "expected both or neither"),
        (["--max-model-len", "0"], "max_model_len"),
        (["--num-gpu-blocks-override", "1", "--port", "0"], "expected room for one sequence"),
    ],
)
def test_what_cannot_be_takes_one_line(
    capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert main(["serve", *TINY, *flags]) == 2
    printed = capsys.readouterr()
    *others, last = printed.err.splitlines()
    assert last.startswith("paged serve: error: ")
    assert message in last
    assert others in ([], ["loading tiny"])


def test_an_address_that_is_taken_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "no-such-model", "--port", str(port)]) == 2
    assert f"cannot listen at 127.0.0.1:{port}" in capsys.readouterr().err


def test_keys_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from paged.cli.serve import _keys

    monkeypatch.setenv("PAGED_API_KEY", "one,two")
    assert _keys(None) == ("one", "two")
    assert _keys(["three"]) == ("three",)
    monkeypatch.delenv("PAGED_API_KEY")
    assert _keys(None) == ()


@pytest.mark.parametrize("named", ["", ",", "one,,two", " one"])
def test_an_environment_that_names_no_key_lets_nobody_in(
    named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGED_API_KEY", named)
    assert main(["serve", "no-such-model", "--port", "0"]) == 2
    assert "api_keys: expected texts without spaces" in capsys.readouterr().err


@pytest.mark.parametrize(("named", "names"), [("none", []), ("virtual,virtual", ["virtual"])])
def test_shadows_are_those_that_are_named(named: str, names: list[str]) -> None:
    with serving("--shadow-allocators", named) as (_, url):
        shadows = httpx.get(f"{url}/v1/blocks").json()["shadows"]
        metrics = httpx.get(f"{url}/metrics").text
    assert [shadow["allocator"] for shadow in shadows] == names
    assert ("paged:shadow_" in metrics) == bool(names)


@pytest.mark.parametrize("named", ["", "virtual,", "paged", "virtual,none"])
def test_a_shadow_that_is_none_is_refused(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--shadow-allocators", named])
    assert "expected policies of reserved-max,reserved-pow2,virtual" in capsys.readouterr().err


def test_the_names_of_shadows_are_those_of_the_server() -> None:
    from paged.cli import serve
    from paged.server import shadow

    assert serve.SHADOWS == shadow.SHADOWS
