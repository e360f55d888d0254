"""Paged KV-cache memory for LLM inference: a kernel-first research framework."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paged.engine.llm import LLM
    from paged.grammar import Grammar
    from paged.kernel.choice import use_kernel
    from paged.sampling_params import BeamParams, SamplingParams

__all__ = ["LLM", "BeamParams", "Grammar", "SamplingParams", "use_kernel"]

_HOME = {
    "LLM": "paged.engine.llm",
    "BeamParams": "paged.sampling_params",
    "Grammar": "paged.grammar",
    "SamplingParams": "paged.sampling_params",
    "use_kernel": "paged.kernel.choice",
}


def __getattr__(name: str) -> Any:
    """Import a public name where it is used: allocators and experiments run without torch."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
