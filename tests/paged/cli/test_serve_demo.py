"""`paged serve` as a process, on the demo model: what the README says works with curl."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = [pytest.mark.smollm2, pytest.mark.slow, pytest.mark.xdist_group("serve_demo")]

CHAT = [{"role": "user", "content": "What is the capital of France?"}]
SERVE = [sys.executable, "-m", "paged.cli.main", "serve"]


class Serving:
    """A server that runs in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url


@pytest.fixture(scope="module")
def serving(smollm2_path: Path) -> Iterator[Serving]:
    """Serve the demo model; the last test stops it."""
    flags = ["--port", "0", "--max-model-len", "256", "--num-gpu-blocks-override", "64"]
    with subprocess.Popen(
        [*SERVE, str(smollm2_path), "--served-model-name", "smollm2-135m", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("paged serves smollm2-135m at http://"), line
        try:
            yield Serving(process, line.split(" at ")[1].split(": ")[0])
        finally:
            process.kill()


def test_it_is_healthy(serving: Serving) -> None:
    assert httpx.get(f"{serving.url}/health").status_code == 200


def test_curl_completes_a_text(serving: Serving) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    body = {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0}
    printed = subprocess.run(
        [
            *(curl, "--silent", "--fail", f"{serving.url}/v1/completions"),
            *("-H", "Content-Type: application/json", "-d", json.dumps(body)),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answer = json.loads(printed)
    assert "Paris" in answer["choices"][0]["text"]
    assert answer["usage"]["completion_tokens"] == 4


def test_a_chat_streams(serving: Serving) -> None:
    assert "Paris" in _streamed(serving, max_tokens=12, temperature=0)


def test_a_second_server_at_the_port_says_so_in_a_line(serving: Serving) -> None:
    port = urlsplit(serving.url).port
    ran = subprocess.run(
        [*SERVE, "--port", str(port)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"paged serve: error: cannot listen at 127.0.0.1:{port}: ")
    # The first one does not mind.
    assert httpx.get(f"{serving.url}/health").status_code == 200


def test_sigterm_lets_a_stream_end_and_then_the_process(serving: Serving) -> None:
    text = _streamed(serving, max_tokens=64, ignore_eos=True, stops=serving.process)
    assert text
    assert serving.process.wait(120) == 0
    assert serving.process.stderr is not None
    assert "Traceback" not in serving.process.stderr.read()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{serving.url}/health")


def _streamed(
    serving: Serving, *, stops: subprocess.Popen[str] | None = None, **fields: Any
) -> str:
    """Return the text of a streamed chat; stops: a process that is told to end in its midst."""
    body = {"messages": CHAT, "stream": True, **fields}
    events: list[str] = []
    path = f"{serving.url}/v1/chat/completions"
    with httpx.stream("POST", path, json=body, timeout=120) as answer:
        for line in filter(None, answer.iter_lines()):
            events.append(line.removeprefix("data: "))
            if stops is not None and len(events) == 2:
                stops.send_signal(signal.SIGTERM)
    *chunks, last = events
    assert last == "[DONE]"
    deltas = [json.loads(chunk)["choices"][0] for chunk in chunks]
    assert deltas[-1]["finish_reason"] in ("length", "stop")
    return "".join(delta["delta"].get("content") or "" for delta in deltas)
