"""Options of the HTTP server."""

from __future__ import annotations

from typing import Any

import pytest

from paged.errors import ConfigError
from paged.server.config import ServerConfig


def test_answers_carry_the_first_name() -> None:
    assert ServerConfig(served_model_names=("a/b", "c")).model_name == "a/b"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"served_model_names": ()}, "served_model_names"),
        ({"served_model_names": ("",)}, "served_model_names"),
        ({"served_model_names": ("a ",)}, "served_model_names"),
        ({"served_model_names": ("a",), "api_keys": ("",)}, "api_keys"),
        ({"served_model_names": ("a",), "api_keys": ("k\n",)}, "api_keys"),
    ],
)
def test_empty_texts_are_refused_and_no_key_is_repeated(options: Any, name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: ") as caught:
        ServerConfig(**options)
    assert "k\n" not in str(caught.value)
