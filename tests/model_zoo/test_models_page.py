"""docs/models.md keeps its word: the family it adds is found, and computes what it should."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model_zoo import families, registry
from model_zoo.families.llama import FAMILY, NAMES
from model_zoo.registry import FAMILIES
from tests.helpers.hf_model import HfModel, check_logits
from tests.helpers.tokenizer_folder import write_folder

_FILE = re.compile(r"<!-- phi3\.py -->\n```python\n(.*?)```", re.DOTALL)
_CHECK = re.compile(r"<!-- check\.py -->\n```python\n(.*?)```", re.DOTALL)


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


def test_the_check_of_a_checkpoint_finds_what_is_wrong(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = _CHECK.search((repository / "docs/models.md").read_text())
    assert example is not None
    (tmp_path / "check.py").write_text(example[1])
    write_folder(tmp_path)
    hf = HfModel("llama", vocab_size=600)
    hf.model.save_pretrained(tmp_path)
    monkeypatch.setattr(sys, "argv", ["check.py", str(tmp_path)])

    def difference() -> float:
        runpy.run_path(str(tmp_path / "check.py"), run_name="__main__")
        return float(capsys.readouterr().out.rpartition(" ")[2])

    assert difference() < 1e-4
    swapped = {"attention_norm": NAMES["mlp_norm"], "mlp_norm": NAMES["attention_norm"]}
    wrong = replace(FAMILY, names={**NAMES, **swapped})
    monkeypatch.setattr(registry, "FAMILIES", {"llama": wrong})
    assert difference() > 0.1


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
