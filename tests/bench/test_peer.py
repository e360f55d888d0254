"""The line protocol to a peer process, with a small peer in place of vLLM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.peer import VARIABLE, Peer, PeerFailed, find_peer_python

ECHO = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
DIES = "import sys\nsys.stdin.readline(); sys.exit('no such engine')"
SILENT = "import time\ntime.sleep(60)"

StartPeer = Callable[[str], Peer]


@pytest.fixture
def start() -> Iterator[StartPeer]:
    """Start peers that run a piece of Python, and end them after the test."""
    peers: list[Peer] = []

    def start(code: str) -> Peer:
        peers.append(Peer(Path(sys.executable), ("-c", code), timeout_s=2.0))
        return peers[-1]

    yield start
    for peer in peers:
        peer.close()


def test_each_question_gets_its_answer(start: StartPeer) -> None:
    peer = start(ECHO)
    for number in range(3):
        assert peer.ask("op", number=number) == {"op": "op", "number": number}


def test_a_peer_that_ends_is_reported_with_its_last_words(start: StartPeer) -> None:
    with pytest.raises(PeerFailed, match="status 1 at 'step':\nno such engine"):
        start(DIES).ask("step")


def test_a_silent_peer_is_given_up(start: StartPeer) -> None:
    with pytest.raises(PeerFailed, match="no answer to 'step' within 2 s"):
        start(SILENT).ask("step")


def test_closing_twice_is_harmless(start: StartPeer) -> None:
    peer = start(ECHO)
    peer.close()
    peer.close()


def test_the_variable_goes_before_the_default(tmp_path: Path) -> None:
    named, default = tmp_path / "named", tmp_path / "default"
    named.touch()
    default.touch()
    assert find_peer_python({VARIABLE: str(named)}, default) == named
    assert find_peer_python({}, default) == default


def test_without_an_environment_there_is_no_peer(tmp_path: Path) -> None:
    assert find_peer_python({}, tmp_path / "absent") is None


def test_a_wrong_variable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerFailed, match=f"{VARIABLE} must name a Python interpreter"):
        find_peer_python({VARIABLE: str(tmp_path / "absent")}, tmp_path)
