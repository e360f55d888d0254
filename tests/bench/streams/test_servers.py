"""How servers are started, and what is said of one that does not start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.peer import PeerFailed
from bench.peers.entries import LLAMA_VARIABLE
from bench.streams.servers import KINDS, Server, command_of, entry_of, free_port

HEALTHY = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_kinds_come_in_pairs_of_equal_bits_as_in_the_contest() -> None:
    for kind in KINDS:
        assert (entry_of(kind).peer, entry_of(kind).bits) == (kind.peer, kind.bits)
    for bits in (16, 8):
        assert sorted(k.peer for k in KINDS if k.bits == bits) == ["llama", "paged"]


def test_our_server_gets_as_many_places_as_there_are_streams() -> None:
    command = command_of(KINDS[2], port=81, slots=4, threads=2)
    assert command is not None
    line = " ".join(command)
    assert "--max-num-seqs 4" in line
    assert line.endswith("--quantization int8")


def test_a_peer_that_is_not_installed_has_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LLAMA_VARIABLE, raising=False)
    monkeypatch.setattr("bench.peers.entries.LLAMA_PYTHON", Path("/nowhere"))
    assert command_of(KINDS[1], port=81, slots=4, threads=2) is None


def test_a_server_is_waited_for_and_stopped() -> None:
    port = free_port()
    with Server([sys.executable, "-c", HEALTHY, str(port)], port=port) as server:
        assert server.url.endswith(str(port))


def test_the_last_words_of_one_that_ends() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no model')"]
    with pytest.raises(PeerFailed, match="status 1: no model"):
        Server(command, port=free_port())


def test_one_that_never_answers() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(PeerFailed, match="not ready within"):
        Server(command, port=free_port(), start_s=0.3)
