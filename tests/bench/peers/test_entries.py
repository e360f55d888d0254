"""Contestants and where they run."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from bench.peer import VARIABLE
from bench.peers.entries import ENTRIES, LLAMA_VARIABLE, python_of


def test_every_entry_has_a_name_of_its_own_and_a_worker() -> None:
    assert len({each.name for each in ENTRIES}) == len(ENTRIES)
    for each in ENTRIES:
        assert find_spec(f"bench.peers.{each.worker}") is not None


def test_each_peer_runs_in_its_own_environment(tmp_path: Path) -> None:
    vllm, llama = tmp_path / "vllm", tmp_path / "llama"
    vllm.touch()
    llama.touch()
    environment = {VARIABLE: str(vllm), LLAMA_VARIABLE: str(llama)}
    pythons = {each.peer: python_of(each, environment) for each in ENTRIES}
    ours = Path(sys.executable)
    assert pythons == {"paged": ours, "transformers": ours, "vllm": vllm, "llama": llama}
