"""The thread that owns an engine: model code runs here and nowhere else."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from paged.engine.frontend import Frontend
from paged.engine.outputs import OutputDelta

Command = Callable[[Frontend], None]
"""Something to do between two steps. What it raises ends the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What the thread tells; it calls them itself, so they must only pass messages on.

    ready: the engine is made and takes commands.
    stepped: what one step added, all streams together.
    died: the engine could not be made, or a step or a command broke it.
    """

    ready: Callable[[Frontend], None]
    stepped: Callable[[list[OutputDelta]], None]
    died: Callable[[BaseException], None]


class EngineThread:
    """Makes an engine in a thread of its own, then obeys commands and runs steps there.

    The engine is made there too, since a device is chosen for each thread by itself.
    """

    def __init__(self, make_frontend: Callable[[], Frontend], reports: Reports) -> None:
        self._make_frontend = make_frontend
        self._reports = reports
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        # A daemon: where a step hangs, the process still ends.
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start the thread; it reports `ready` or `died`."""
        self._thread.start()

    def put(self, command: Command) -> None:
        """Have a command done before the next step, in the order of the calls."""
        self._commands.put(command)

    def stop(self, timeout_s: float) -> bool:
        """End the thread after the step that runs, and say whether it has ended in time."""
        self._commands.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            frontend = self._make_frontend()
            self._reports.ready(frontend)
            while self._obey(frontend):
                if frontend.has_work:
                    deltas = frontend.step()
                    if deltas:
                        self._reports.stepped(deltas)
        # Whatever it is, whoever waits for this engine must be told.
        except BaseException as error:
            self._reports.died(error)

    def _obey(self, frontend: Frontend) -> bool:
        """Do all commands that are there, waiting for one if there is nothing else to do."""
        while True:
            try:
                command = self._commands.get(block=not frontend.has_work)
            except queue.Empty:
                return True
            if command is None:
                return False
            command(frontend)
