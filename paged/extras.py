"""Packages that models, kernels and servers need, and the core of `paged` does without."""

from __future__ import annotations

MODEL_PACKAGES = ("torch", "safetensors", "tokenizers", "gguf", "huggingface_hub", "llguidance")
"""What `paged[model]` installs, by the names that are imported."""

SERVE_PACKAGES = (
    *("fastapi", "httptools", "httpx", "prometheus_client", "pydantic", "uvicorn", "uvloop"),
)
"""What `paged[serve]` installs besides."""


def missing_package(error: ModuleNotFoundError) -> str:
    """Return what to tell a user about an import that failed; raise it again if it is a bug."""
    if error.name not in (*MODEL_PACKAGES, *SERVE_PACKAGES):
        raise error
    return not_installed(error.name)


def not_installed(package: str) -> str:
    """Return what to tell a user who lacks one of these packages."""
    extra = "serve" if package in SERVE_PACKAGES else "model"
    return f"{package} is not installed; pip install 'paged[{extra}]'"
