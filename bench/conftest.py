"""The peer process, the collected comparisons, and the table at the end of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from bench.peer import DEFAULT_PYTHON, VARIABLE, Peer, find_peer_python
from bench.report import Collected, by_rivals, table

COLLECTED = pytest.StashKey[Collected]()
NO_PEER = (
    "vLLM is not compared: no environment has it."
    f" `make bench-peers` makes one, or {VARIABLE} names its Python."
)


def pytest_configure(config: pytest.Config) -> None:
    """Start with nothing collected."""
    config.stash[COLLECTED] = Collected()


@pytest.fixture(scope="session")
def peer(pytestconfig: pytest.Config) -> Iterator[Peer | None]:
    """Run vLLM in its own process; None where it is not installed."""
    pytestconfig.stash[COLLECTED].wants_peer = True
    python = find_peer_python(os.environ, DEFAULT_PYTHON)
    if python is None or pytestconfig.getoption("benchmark_disable"):
        yield None
        return
    running = Peer(python)
    pytestconfig.stash[COLLECTED].peer_versions = running.ask("versions")
    yield running
    running.close()


@pytest.fixture
def collected(pytestconfig: pytest.Config) -> Collected:
    """Comparisons of this run so far."""
    return pytestconfig.stash[COLLECTED]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print our times beside goals, yardsticks and peer."""
    collected = config.stash[COLLECTED]
    if not collected.comparisons:
        return
    terminalreporter.section("beside goals, yardsticks and peers")
    for group in by_rivals(collected.comparisons):
        for line in ("", *table(group)):
            terminalreporter.write_line(line)
    if collected.peer_versions is None and collected.wants_peer:
        terminalreporter.write_line(NO_PEER)


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Store what the peer is in pytest-benchmark's own file."""
    output_json["peer_versions"] = config.stash[COLLECTED].peer_versions
