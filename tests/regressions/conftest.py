"""What the regression tests share: small engines, and prompts by length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.helpers.toy_engine import ToyEngine, make_toy_engine


@pytest.fixture
def make_engine() -> Callable[..., ToyEngine]:
    """Return a factory of engines; it takes the fields of both configurations."""
    return make_toy_engine
