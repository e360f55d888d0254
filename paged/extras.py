"""Packages that models and kernels need, and the core of `paged` does without."""

from __future__ import annotations

MODEL_PACKAGES = ("torch", "safetensors", "tokenizers", "gguf", "huggingface_hub", "llguidance")
"""What `paged[model]` installs, by the names that are imported."""


def not_installed(package: str) -> str:
    """Return what to tell a user who lacks one of these packages."""
    return f"{package} is not installed; pip install 'paged[model]'"
