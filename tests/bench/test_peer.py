"""The line protocol to a peer process, with a small peer in place of vLLM."""

from __future__ import annotations

import fcntl
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from bench.peer import VARIABLE, Peer, PeerFailed, find_peer_python

ECHO = "import sys\nfor line in sys.stdin: print(line.strip(), flush=True)"
DIES = "import sys\nsys.stdin.readline(); sys.exit('no such engine')"
SILENT = "import time\ntime.sleep(60)"
# Has a process of its own, which keeps a file locked as long as it lives.
STARTS_ANOTHER = '''
import subprocess, sys, time
code = """
import fcntl, time
held = open({path!r})
fcntl.flock(held, fcntl.LOCK_EX)
print("{{}}", flush=True)
time.sleep(60)
"""
subprocess.Popen([sys.executable, "-c", code])
time.sleep({seconds})
'''

StartPeer = Callable[[str], Peer]


@pytest.fixture
def start() -> Iterator[StartPeer]:
    """Start peers that run a piece of Python, and end them after the test."""
    peers: list[Peer] = []

    def start(code: str) -> Peer:
        peers.append(Peer(Path(sys.executable), ("-c", code), timeout_s=2.0, end_s=0.5))
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


@pytest.mark.parametrize("seconds", [0, 60])
def test_what_a_peer_has_started_ends_with_it(
    start: StartPeer, tmp_path: Path, seconds: int
) -> None:
    path = tmp_path / "lock"
    path.touch()
    peer = start(STARTS_ANOTHER.format(path=str(path), seconds=seconds))
    assert peer.ask("op") == {}
    peer.close()
    with path.open() as lock:
        deadline_s = time.monotonic() + 10.0
        while not _locked(lock):
            assert time.monotonic() < deadline_s, "the other process is still there"
            time.sleep(0.01)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
