"""Listening, and the end."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from paged.errors import ConfigError, EngineStopped
from paged.server.limits import Limits
from paged.server.runner import Listen
from tests.helpers.live_server import LiveServer, live_server


def test_a_free_port_is_taken_and_named() -> None:
    listen = Listen(port=0)
    with listen.bound_socket() as bound:
        port = bound.getsockname()[1]
        assert listen.address(bound) == f"http://127.0.0.1:{port}"
        bound.listen()
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1:{port}: "):
            Listen(port=port).bound_socket()
    if socket.has_ipv6:
        with Listen(host="::1", port=0).bound_socket() as bound:
            secure = Listen(host="::1", port=0, ssl_keyfile="key", ssl_certfile="cert")
            assert secure.address(bound).startswith("https://[::1]:")


def test_a_name_that_no_host_can_have_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen at .*: encoding of hostname failed"):
        Listen(host="ü" * 70).bound_socket()


def test_a_certificate_of_no_use_is_told_before_anything_runs(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    for name in (str(wrong), str(tmp_path / "missing.pem")):
        listen = Listen(port=0, ssl_keyfile=name, ssl_certfile=name)
        with pytest.raises(ConfigError, match=r"^ssl_certfile: expected a certificate in .*pem"):
            listen.bound_socket()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_it_serves_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    listen = Listen(port=0, ssl_keyfile=str(key), ssl_certfile=str(certificate))
    with live_server(listen=listen) as server:
        assert server.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=server.url, verify=context) as client:
            answer = client.post("/v1/completions", json={"prompt": "a", "max_tokens": 2})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": -1}, "port: expected 0 to 65535"),
        ({"port": 2**16}, "port: expected 0 to 65535"),
        ({"ssl_keyfile": "key"}, "expected both or neither"),
        ({"ssl_certfile": "cert"}, "expected both or neither"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Listen(**options)


def test_it_says_when_it_is_ready_and_ends_what_has_begun(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with live_server() as server:
        printed = ""
        while not printed:
            time.sleep(0.01)
            printed = capsys.readouterr().out
        assert printed.startswith(f"paged serves tiny at {server.url}: 64 blocks")
        body = {"prompt": "a", "max_tokens": 80, "ignore_eos": True, "stream": True}
        with (
            httpx.Client(base_url=server.url) as client,
            client.stream("POST", "/v1/completions", json=body) as answer,
        ):
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            server.runner.should_exit = True
            *_, last, _ = lines
        assert last == "data: [DONE]"


@pytest.mark.parametrize("is_forced", [False, True])
def test_what_does_not_end_in_time_ends_in_an_error(
    is_forced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"prompt": "a", "max_tokens": 80, "ignore_eos": True, "stream": True}
    late: list[httpx.Response] = []
    with live_server(limits=Limits(drain_timeout_s=60 * is_forced)) as server, _Hold() as hold:
        waiting = threading.Thread(target=lambda: late.append(_post_alone(server.url, body)))
        with server.client.stream("POST", "/v1/completions", json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            hold.hold(server)
            waiting.start()
            while server.service.num_open_requests < 2:
                time.sleep(0.01)
            server.runner.force_exit = is_forced
            server.runner.should_exit = True
            *_, error, _, last, _ = lines
        waiting.join()
    assert "it is being stopped" in error
    assert last == "data: [DONE]"
    assert late[0].status_code == 503
    assert "Retry-After" in late[0].headers
    assert "Traceback" not in caplog.text
    assert "ASGI" not in caplog.text


class _Hold:
    """An engine that stands still until the end of the block, though it is stopped."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self._holding: threading.Thread | None = None

    def hold(self, server: LiveServer) -> None:
        held = threading.Event()

        def hold() -> None:
            with suppress(EngineStopped):
                server.ask(lambda _: (held.set(), self._free.wait(30)))

        self._holding = threading.Thread(target=hold)
        self._holding.start()
        held.wait(30)

    def __enter__(self) -> _Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self._free.set()
        if self._holding is not None:
            self._holding.join()


def _post_alone(url: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{url}/v1/completions", json=body | {"stream": False}, timeout=60)


def test_no_header_tells_what_serves() -> None:
    with live_server() as server:
        assert "server" not in server.client.get("/health").headers
