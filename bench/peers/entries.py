"""Who takes part: each contestant with its weights, its flags and its interpreter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.peer import DEFAULT_PYTHON, ROOT, VARIABLE, find_peer_python
from bench.peers.weights import MODEL, folder_of, gguf_of

LLAMA_VARIABLE = "PAGED_LLAMA_PYTHON"
LLAMA_PYTHON = ROOT / "bench" / ".llama-env" / "bin" / "python"
BATCH_SIZE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One contestant.

    peer: whose configurations the best is taken of. bits: of a weight; llama.cpp is held
    against our engine at equal bits.
    worker: module that serves it. model: makes its file, when it is to start.
    options: what `open` is told beside the model and the threads.
    """

    name: str
    peer: str
    bits: int
    worker: str
    model: Callable[[], str | Path]
    options: Mapping[str, Any]


def _paged(name: str, bits: int, **options: Any) -> Entry:
    options = {"max_num_seqs": 32, "enable_prefix_caching": False, **options}
    return Entry(
        name=name,
        peer="paged",
        bits=bits,
        worker="paged_worker",
        model=lambda: MODEL,
        options={"options": options},
    )


def _torch(peer: str, dtype: str, bits: int, **options: Any) -> Entry:
    return Entry(
        name=f"{peer}-{dtype}",
        peer=peer,
        bits=bits,
        worker=f"{peer}_worker",
        model=partial(folder_of, dtype),
        options={"dtype": dtype, **options},
    )


def _llama(kind: str, bits: int) -> Entry:
    # One pool of KV for all slots, flash attention: the fastest of its settings on a CPU.
    flags = ["--kv-unified", "--flash-attn", "on", "--no-webui", "--log-disable"]
    return Entry(
        name=f"llama-{kind}",
        peer="llama",
        bits=bits,
        worker="llama_worker",
        model=partial(gguf_of, kind),
        options={"flags": flags},
    )


ENTRIES = (
    _paged("paged-bfloat16", 16),
    _paged("paged-int8", 8, quantization="int8"),
    _torch("vllm", "float32", 32),
    _torch("vllm", "bfloat16", 16),
    _torch("transformers", "float32", 32, batch_size=BATCH_SIZE),
    _llama("f16", 16),
    _llama("q8_0", 8),
)


def python_of(entry: Entry, environment: Mapping[str, str]) -> Path | None:
    """Name the interpreter that an entry runs in, None where it is not installed.

    Raises: PeerFailed where an environment variable names none.
    """
    if entry.peer == "vllm":
        return find_peer_python(environment, DEFAULT_PYTHON, VARIABLE)
    if entry.peer == "llama":
        return find_peer_python(environment, LLAMA_PYTHON, LLAMA_VARIABLE)
    return Path(sys.executable)
