"""Servers of launches: no failure leaves anything behind, and a dead server is replaced."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from paged.errors import KernelRunError
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.backends.server import Server, ServerPool
from tests.helpers.interpreted import given, launch, program, updated

FAILURES = ("read_at", "write_at", "trap", "assertion", "division_by_zero", "stack_overflow")


@pytest.fixture
def pool() -> ServerPool:
    """Return the servers that isolated launches of this process use."""
    return load_runtime(find_compiler()).servers


def fail_once(entry: str) -> None:
    numbers = {"index": 5_000} if entry.endswith("_at") else {}
    numbers |= {"divisor": 0} if entry == "division_by_zero" else {}
    target = torch.full((100,), 7.0)
    with pytest.raises(KernelRunError):
        launch(
            program("failures.cu"),
            entry,
            grid=2,
            source=given(torch.arange(100.0)),
            target=updated(target),
            **numbers,
        )
    assert (target == 7.0).all()


def succeed_once() -> None:
    target = torch.zeros(100)
    launch(
        program("failures.cu"),
        "write_at",
        grid=2,
        source=given(torch.ones(100)),
        target=updated(target),
        index=99,
    )
    assert target.sum() == 2.0


def footprint() -> tuple[int, int, int]:
    """Return open files, memory mappings and child processes."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    maps = Path("/proc/self/maps").read_text().count("\n")
    return len(list(Path("/proc/self/fd").iterdir())), maps, len(children)


def test_two_hundred_failures_leave_nothing_behind() -> None:
    for entry in FAILURES:
        fail_once(entry)
    succeed_once()
    files, maps, children = footprint()
    for number in range(200):
        fail_once(FAILURES[number % len(FAILURES)])
    succeed_once()
    files_after, maps_after, children_after = footprint()
    assert (files_after, children_after) == (files, children)
    assert maps_after <= maps + 8  # the allocator of C may have grown


def test_a_server_is_used_again(pool: ServerPool) -> None:
    with pool.server() as first:
        pass
    with pool.server() as second:
        assert second is first


def test_a_dead_server_is_replaced(pool: ServerPool) -> None:
    succeed_once()
    with pool.server() as server:
        os.kill(server.pid, signal.SIGKILL)
        os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
    assert not server.is_alive
    succeed_once()
    with pool.server() as other:
        assert other is not server


def test_a_server_whose_borrower_fails_is_ended(pool: ServerPool) -> None:
    with pytest.raises(RuntimeError), pool.server() as server:
        raise RuntimeError
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_servers_belong_to_the_process_that_started_them(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pool.server() as known:
        program_path = Path(os.readlink(f"/proc/{known.pid}/exe"))
    forked = ServerPool(program_path)
    with forked.server() as mine:
        arena = os.fstat(mine.arena)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with forked.server() as other:
        assert other is not mine
    other.close()
    # a fork that held these ends would keep the server alive after the process it serves
    is_open = Path(f"/proc/self/fd/{mine.arena}").exists()
    assert not (is_open and os.path.samestat(os.fstat(mine.arena), arena))
    os.waitpid(mine.pid, 0)


def test_an_order_to_a_dead_server_is_an_error(pool: ServerPool) -> None:
    with pool.server() as server:
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(KernelRunError, match="the launch's server has"):
            server.run(b"x" * 100, 5.0)


def test_a_library_that_cannot_be_loaded_is_an_error(pool: ServerPool) -> None:
    with pool.server() as server:
        answer = server.run(bytes(16) + b"absent.so", 5.0)
    assert answer.status < 0
    assert b"absent.so" in answer.message


def test_an_arena_that_has_become_large_is_freed(pool: ServerPool) -> None:
    with pool.server() as server:
        server.resize(1 << 30, fresh=False)
        server.shrink()
        assert os.fstat(server.arena).st_size == 0


def test_nothing_is_left_open_where_a_server_cannot_be_started(tmp_path: Path) -> None:
    files, _, children = footprint()
    with pytest.raises(KernelRunError, match=r"cannot start .*absent: No such file"):
        Server(tmp_path / "absent")
    files_after, _, children_after = footprint()
    assert (files_after, children_after) == (files, children)


def test_idle_servers_are_ended_and_others_started_in_their_place(pool: ServerPool) -> None:
    with pool.server() as server:
        pass
    pool.close()
    assert not server.is_alive
    server.disconnect()
    with pool.server() as other:
        assert other.is_alive


def test_nothing_is_said_when_python_ends_with_idle_servers(repository: Path) -> None:
    code = """
import paged.kernel.backends.runtime_library as runtime
from paged.kernel.backends.host_compiler import find_compiler
with runtime.load_runtime(find_compiler()).servers.server() as server:
    print(server.pid)
"""
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", code]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_a_server_ends_with_its_caller(pool: ServerPool) -> None:
    with pool.server() as server:
        program_path = Path(f"/proc/{server.pid}/exe").readlink()
    own = Server(program_path)
    own.disconnect()
    assert os.waitpid(own.pid, 0)[1] == 0


def test_a_time_limit_holds_while_a_kernel_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KernelRunError, match="did not end within"):
        launch(
            program("blocks.cu", InterpretConfig(timeout_s=0.3), templates=()),
            "prints",
            rounds=2_000_000_000,
        )
    assert capsys.readouterr().out.startswith("thread 0 of block 0, round 0\n")


def test_a_launch_may_have_no_time_limit() -> None:
    target = torch.zeros(100)
    launch(
        program("failures.cu", InterpretConfig(timeout_s=math.inf)),
        "write_at",
        grid=2,
        source=given(torch.ones(100)),
        target=updated(target),
        index=99,
    )
    assert target.sum() == 2.0
