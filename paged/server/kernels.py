"""Names of the kernels that serve a model."""

from __future__ import annotations

from pathlib import Path

from paged.engine.llm_config import LLMConfig
from paged.kernel.backends.host import HostConfig
from paged.kernel.choice import Choices
from paged.kernel.registry import OP_NAMES, cpu_default

CHOSEN_BY_CALL = "chosen for each call"


def kernels_of(options: LLMConfig, *, is_gpu: bool) -> dict[str, str]:
    """Say what serves each operation; of a kernel in a file of its own only the file's name."""
    choices = Choices(host=HostConfig(num_threads=options.num_threads))
    return {
        op: _shown(options.kernels[op])
        if op in options.kernels
        else (CHOSEN_BY_CALL if is_gpu else cpu_default(op, choices))
        for op in OP_NAMES
    }


def _shown(variant: str) -> str:
    return Path(variant).name if variant.endswith(".cu") else variant
