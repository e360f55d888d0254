"""Processes that run launches for this one, so that no kernel can harm it.

A server forks for each launch, which costs little since it is small. What it works on lies in its
arena, a file in memory that both sides share.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from ctypes import sizeof
from pathlib import Path

from paged.errors import KernelRunError
from paged.kernel.backends.structures import Answer, Control

ORDER_FD, ARENA_FD, TEXT_FD = 3, 4, 5
FIRST_FREE_FD = 16
TEXT_BYTES = 65536
KEPT_ARENA_BYTES = 64 * 1024 * 1024
GRACE_S = 2.0
MAX_POLL_S = 3600.0


class ServerLost(KernelRunError):
    """A process that runs launches cannot be started, cannot load a kernel, or has ended."""


class Server:
    """One process, which carries out one launch at a time. Raises ServerLost without one."""

    def __init__(self, program: Path) -> None:
        self._ends = ExitStack()
        with ExitStack() as passed_on:
            self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._ends.callback(self._orders.close)
            passed_on.callback(theirs.close)
            self.arena = os.memfd_create("paged-arena")
            self._ends.callback(os.close, self.arena)
            self._text, text_end = os.pipe()
            self._ends.callback(os.close, self._text)
            passed_on.callback(os.close, text_end)
            os.set_blocking(self._text, False)
            actions: list[tuple[int, int, int]] = []
            for fd, target in (
                (theirs.fileno(), ORDER_FD),
                (self.arena, ARENA_FD),
                (text_end, TEXT_FD),
            ):
                # Above the numbers they get in the server, so that none overwrites another.
                moved = _move_up(fd)
                passed_on.callback(os.close, moved)
                actions.append((os.POSIX_SPAWN_DUP2, moved, target))
            self.pid = self._spawn(program, actions)

    def _spawn(self, program: Path, actions: list[tuple[int, int, int]]) -> int:
        command = [str(program)]
        try:
            return os.posix_spawn(
                program, command, dict(os.environ), file_actions=actions, setpgroup=0
            )
        except OSError as error:
            self.disconnect()
            raise ServerLost(f"cannot start {program}: {error.strerror}") from error

    def close(self) -> None:
        """End the process, and with it a launch that still runs."""
        self.disconnect()
        with suppress(ProcessLookupError, ChildProcessError):  # another has waited for it
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def disconnect(self) -> None:
        """Close this side's ends: an idle process then ends by itself. Once done, does nothing."""
        self._ends.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # another has waited for it
            return False

    def resize(self, num_bytes: int, *, fresh: bool) -> None:
        """Give the arena at least this size; fresh: all zeros. Mutates the arena."""
        if fresh:
            os.ftruncate(self.arena, 0)
        if os.fstat(self.arena).st_size < num_bytes:
            os.ftruncate(self.arena, num_bytes)

    def shrink(self) -> None:
        """Free the memory of an arena that has become large."""
        if os.fstat(self.arena).st_size > KEPT_ARENA_BYTES:
            os.ftruncate(self.arena, 0)

    def run(self, order: bytes, timeout_s: float) -> Answer:
        """Have a launch carried out, passing on what the kernel prints.

        Past the time limit the child is asked to report where it is, then killed.
        Raises ServerLost where the server dies, KernelRunError where it does not answer.
        """
        self._send(order)
        self._wait_for_answer(timeout_s)
        self._pass_text_on()
        return self._receive()

    def _send(self, order: bytes) -> None:
        try:
            self._orders.send(order)
        except OSError as error:
            raise ServerLost(f"the launch's server has gone: {error.strerror}") from error

    def _receive(self) -> Answer:
        try:
            data = self._orders.recv(TEXT_BYTES)
        except OSError as error:
            raise ServerLost(f"the launch's server has gone: {error.strerror}") from error
        if not data:
            raise ServerLost("the launch's server has ended")
        return Answer.from_buffer_copy(data)

    def _wait_for_answer(self, timeout_s: float) -> None:
        poller = select.poll()
        poller.register(self._orders, select.POLLIN)
        poller.register(self._text, select.POLLIN)
        stops = iter((signal.SIGUSR2, signal.SIGKILL))
        deadline_s = time.monotonic() + timeout_s
        while True:
            left_s = deadline_s - time.monotonic()
            ready = {fd for fd, _ in poller.poll(min(max(0.0, left_s), MAX_POLL_S) * 1000)}
            if self._text in ready:
                self._pass_text_on()
            if self._orders.fileno() in ready:
                return
            if left_s <= 0:
                stop = next(stops, None)
                if stop is None:
                    raise KernelRunError("the launch's server does not answer")
                self._signal_child(stop)
                deadline_s = time.monotonic() + GRACE_S

    def _pass_text_on(self) -> None:
        while True:
            try:
                text = os.read(self._text, TEXT_BYTES)
            except BlockingIOError:
                return
            if not text:
                return
            sys.stdout.write(text.decode(errors="replace"))
            if len(text) < TEXT_BYTES:
                return

    def _signal_child(self, number: signal.Signals) -> None:
        child: int = Control.from_buffer_copy(os.pread(self.arena, sizeof(Control), 0)).child
        if child > 0:
            os.kill(child, number)


class ServerPool:
    """Servers that are not at work."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._idle: list[Server] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()
        atexit.register(self.close)

    def close(self) -> None:
        """End the servers that are not at work, but for those of a process that was forked."""
        with self._lock:
            self._close_idle()

    def _close_idle(self) -> None:
        for server in self._idle:
            if self._owner == os.getpid():
                server.close()
            else:
                server.disconnect()
        self._idle = []

    @contextmanager
    def server(self) -> Generator[Server]:
        """Lend a server. It is ended where the body raises."""
        server = self._take()
        try:
            yield server
        except BaseException:
            server.close()
            raise
        with self._lock:
            self._idle.append(server)

    def _take(self) -> Server:
        with self._lock:
            if self._owner != os.getpid():  # a fork of the process they serve
                self._close_idle()
                self._owner = os.getpid()
            while self._idle:
                server = self._idle.pop()
                if server.is_alive:
                    return server
                server.close()
        return Server(self._program)


def _move_up(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)
