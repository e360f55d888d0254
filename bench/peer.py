"""Find an environment with vLLM and talk to `bench.vllm_peer` in it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "PAGED_VLLM_PYTHON"
DEFAULT_PYTHON = ROOT / "bench" / ".vllm-env" / "bin" / "python"
VLLM_COMMAND = ("-m", "bench.vllm_peer")
TIMEOUT_S = 300.0
# A peer ends by itself once nobody asks any more; it may have servers of its own to end.
END_S = 10.0


class PeerFailed(RuntimeError):
    """The peer process ended or fell silent instead of answering."""


def find_peer_python(
    environment: Mapping[str, str], default: Path = DEFAULT_PYTHON, variable: str = VARIABLE
) -> Path | None:
    """Name the interpreter of a peer's environment, None if there is none.

    variable: goes before the default.

    Raises PeerFailed if the environment variable names a file that does not exist.
    """
    named = environment.get(variable)
    if named is None:
        return default if default.exists() else None
    if not Path(named).exists():
        raise PeerFailed(f"{variable} must name a Python interpreter, got {named!r}")
    return Path(named)


class Peer:
    """A child process that answers one JSON line with one JSON line."""

    def __init__(
        self,
        python: Path,
        command: tuple[str, ...] = VLLM_COMMAND,
        *,
        timeout_s: float = TIMEOUT_S,
        end_s: float = END_S,
    ) -> None:
        self._timeout_s, self._end_s = timeout_s, end_s
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [python, *command],
            cwd=ROOT,
            # The peer describes its model by hand; nothing is to be looked up for it.
            env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # A group of its own: whatever it starts ends with it.
            process_group=0,
        )

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Have one operation run and return its answer.

        Raises PeerFailed (with the end of what the peer printed) if there is none.
        """
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise PeerFailed("the peer has no pipes")
        try:
            process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise PeerFailed(self._obituary(op)) from None
        # One answer per question, so no answer can be waiting in the buffer already.
        if not select.select([process.stdout], [], [], self._timeout_s)[0]:
            raise PeerFailed(f"no answer to {op!r} within {self._timeout_s:g} s")
        line = process.stdout.readline()
        if not line:
            raise PeerFailed(self._obituary(op))
        return json.loads(line)

    def _obituary(self, op: str) -> str:
        status = self._process.wait()
        self._log.seek(0)
        last_lines = self._log.read().splitlines()[-20:]
        return "\n".join([f"the peer ended with status {status} at {op!r}:", *last_lines])

    def close(self) -> None:
        """End the process and all that it started. May be called twice."""
        if self._log.closed:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._end_s)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
