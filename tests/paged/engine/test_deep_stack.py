"""A call that goes deep has room, and what follows is as it was before."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from paged.engine.deep_stack import STACK_BYTES, on_deep_stack


def _largest_mapping_bytes() -> int:
    """Return the largest range of this process's writable memory that has no file."""
    ranges = re.findall(
        r"^(\w+)-(\w+) rw.. 0+ 00:00 0 *$", Path("/proc/self/maps").read_text(), re.MULTILINE
    )
    return max(int(end, 16) - int(begin, 16) for begin, end in ranges)


def test_the_stack_is_deep_and_that_of_other_threads_is_not() -> None:
    before_bytes = threading.stack_size()
    assert on_deep_stack(_largest_mapping_bytes) >= STACK_BYTES
    assert threading.stack_size() == before_bytes


def test_result_and_error_are_those_of_the_function() -> None:
    assert on_deep_stack(lambda: 7) == 7
    with pytest.raises(KeyError, match="lost"):
        on_deep_stack(lambda: {}["lost"])
    assert threading.stack_size() == 0


def test_calls_from_several_threads_all_have_it() -> None:
    found: list[int] = []
    gate = threading.Barrier(4)

    def call() -> None:
        gate.wait()
        found.append(on_deep_stack(threading.stack_size))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert threading.stack_size() == 0
