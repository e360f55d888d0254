"""Memory that there is not: told from other failures where an engine takes what options ask for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from paged.errors import ConfigError

_TORCH_SAYS = "can't allocate memory"
"""How torch names a lack of host memory, for which it has no class of its own."""


@contextmanager
def memory_of(what: str) -> Generator[None, None, None]:
    """Turn a lack of memory inside the block into a ConfigError that says for what.

    numpy's and torch's own texts have the bytes asked for, and stay in it.
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _too_much(what, error) from error
    except RuntimeError as error:
        if _TORCH_SAYS not in str(error):
            raise
        raise _too_much(what, error) from error


def probe_host(num_bytes: int) -> None:
    """Take so much host memory and give it back untouched.

    What the system never grants fails here at once, and not after half of it is filled.
    Raises: what torch raises where memory is short.
    """
    torch.empty(num_bytes, dtype=torch.uint8)


def _too_much(what: str, error: Exception) -> ConfigError:
    return ConfigError(f"expected memory for {what}, got: {error}; ask for less")
