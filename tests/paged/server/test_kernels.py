"""Which kernels are said to serve a model."""

from __future__ import annotations

import pytest

from paged.engine.llm_config import LLMConfig
from paged.kernel.registry import OP_NAMES
from paged.server import kernels
from paged.server.kernels import CHOSEN_BY_CALL, kernels_of


def test_options_come_first_then_the_default_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "cpu_default", lambda op, choices: f"host for {op}")
    options = LLMConfig(kernels={"attention": "v2", "write_kv": "some/where/mine.cu"})
    on_cpu, on_gpu = (kernels_of(options, is_gpu=is_gpu) for is_gpu in (False, True))
    assert tuple(on_cpu) == tuple(on_gpu) == OP_NAMES
    # A path is nobody's business but its owner's.
    assert (on_cpu["attention"], on_gpu["write_kv"]) == ("v2", "mine.cu")
    assert (on_cpu["gather_kv"], on_gpu["gather_kv"]) == ("host for gather_kv", CHOSEN_BY_CALL)
