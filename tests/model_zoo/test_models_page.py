"""docs/models.md keeps its word: the family it adds is found, and computes what it should."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_zoo import families, registry
from model_zoo.registry import FAMILIES
from tests.helpers.hf_model import HfModel, check_logits

_FILE = re.compile(r"<!-- phi3\.py -->\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def _phi3(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the page's file where families are looked for."""
    example = _FILE.search((repository / "docs/models.md").read_text())
    assert example is not None
    (tmp_path / "phi3.py").write_text(example[1])
    monkeypatch.setattr(families, "__path__", [*families.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    monkeypatch.setattr(registry, "FAMILIES", registry.discover())
    yield
    sys.modules.pop(f"{families.__name__}.phi3")


@pytest.mark.usefixtures("_phi3")
def test_a_file_is_a_family() -> None:
    assert set(registry.FAMILIES) == {*FAMILIES, "phi3"}
    assert registry.find_family("phi3").architecture == "Phi3ForCausalLM"


@pytest.mark.usefixtures("_phi3")
@pytest.mark.parametrize(
    "overrides",
    [
        {"sliding_window": 4},
        {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 100.0}},
    ],
)
def test_the_family_gives_the_logits_of_transformers(overrides: dict[str, Any]) -> None:
    hf = HfModel("phi3", pad_token_id=0, **overrides)
    check_logits(hf, hf.config())
