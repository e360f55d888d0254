"""How many threads host kernels run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from paged.kernel.backends.host_threads import (
    default_num_threads,
    num_physical_cores,
    quota_cores,
)


def test_two_logical_cpus_of_one_core_count_once(tmp_path: Path) -> None:
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    assert num_physical_cores({0, 1, 2, 3}, tmp_path) == 2
    assert num_physical_cores({0, 2}, tmp_path) == 1
    # a machine that says nothing of them
    assert num_physical_cores({7, 8}, tmp_path) == 2


@pytest.mark.parametrize(
    ("text", "expected"), [("max 100000\n", None), ("150000 100000\n", 1.5), (None, None)]
)
def test_a_quota_is_read_in_cores(tmp_path: Path, text: str | None, expected: float | None) -> None:
    path = tmp_path / "cpu.max"
    if text is not None:
        path.write_text(text)
    assert quota_cores(path) == expected


def test_there_is_at_least_one_thread() -> None:
    assert default_num_threads() >= 1
