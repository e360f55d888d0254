"""What the regression tests share: small engines, and prompts by length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from paged.config import CacheConfig, SchedulerConfig
from tests.helpers.toy_engine import ToyEngine
from tests.helpers.toy_model import Language

# Blocks are equal only where a test makes them so, and sequences run to their limits.
_LANGUAGE = Language(num_kinds=10_000, stop_every=None)


@pytest.fixture
def make_engine() -> Callable[..., ToyEngine]:
    """Return a factory of engines; it takes the fields of both configurations."""
    defaults = {"block_size": 4, "max_model_len": 64, "watermark": 0.0, "max_num_seqs": 8}

    def make(language: Language = _LANGUAGE, **values: Any) -> ToyEngine:
        values = defaults | {"max_num_batched_tokens": None} | values
        names = {field.name for field in fields(CacheConfig)}
        cache = {name: value for name, value in values.items() if name in names}
        others = {name: value for name, value in values.items() if name not in names}
        return ToyEngine(CacheConfig(**cache), SchedulerConfig(**others), language)

    return make
