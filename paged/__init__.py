"""Paged KV-cache memory for LLM inference: a kernel-first research framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paged.kernel.choice import use_kernel

__all__ = ["use_kernel"]


def __getattr__(name: str) -> Any:
    """Import `use_kernel` where it is used: allocators and experiments run without torch."""
    if name == "use_kernel":
        from paged.kernel.choice import use_kernel

        return use_kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
