"""Models are found by name, folder, file and hub id, or it is said what to put where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from model_zoo.loading.files import resolve
from paged.errors import ModelFileError
from tests.helpers.gguf_files import small_llama, write_model


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache of huggingface_hub."""
    from huggingface_hub import constants

    cache = tmp_path / "hub"
    cache.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    return cache


def snapshot(cache: Path, commit: str = "0" * 40) -> Path:
    """Return the folder where the cache keeps owner/name, made empty."""
    kept = cache / "models--owner--name"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text(commit)
    folder = kept / "snapshots" / commit
    folder.mkdir(parents=True)
    return folder


def test_tiny_has_no_files() -> None:
    files = resolve("tiny")
    assert (files.name, files.folder, files.gguf) == ("tiny", None, None)


def test_a_gguf_file_is_found(tmp_path: Path) -> None:
    path = write_model(tmp_path / "small.gguf", small_llama(), "llama")
    for model in (str(path), str(tmp_path)):
        files = resolve(model)
        assert files.name == "small"
        assert files.gguf is not None
        assert files.gguf.path == path


def test_a_file_may_lack_its_suffix(tmp_path: Path) -> None:
    path = write_model(tmp_path / "small", small_llama(), "llama")
    assert resolve(str(path)).gguf is not None


def test_a_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "also.gguf").write_bytes(b"")
    files = resolve(str(tmp_path))
    assert (files.name, files.folder, files.gguf) == (tmp_path.name, tmp_path, None)


def test_a_hub_id_is_found_in_the_cache(hub_cache: Path) -> None:
    folder = snapshot(hub_cache)
    (folder / "config.json").write_text("{}")
    files = resolve("owner/name")
    assert files.folder == folder
    assert files.name == "owner/name"


def test_a_hub_id_that_is_not_cached_says_what_to_put_where(hub_cache: Path) -> None:
    with pytest.raises(ModelFileError) as raised:
        resolve("owner/other")
    message = str(raised.value)
    assert "\n" not in message
    assert str(hub_cache) in message
    assert "hf download owner/other" in message
    assert "config.json, *.safetensors, tokenizer.json" in message


def test_a_name_that_is_no_hub_id_is_refused_as_one(hub_cache: Path) -> None:
    with pytest.raises(ModelFileError, match="hf download"):
        resolve("-bad/--name..")


def test_a_folder_beats_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    (tmp_path / "owner" / "name" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert resolve("owner/name").folder == Path("owner/name")


@pytest.mark.parametrize("model", ["", "nonsense", "a\0b", "x" * 5000, "/absent/m.gguf", "a/b/c"])
def test_anything_else_is_one_error(model: str) -> None:
    with pytest.raises(ModelFileError, match="expected a folder with") as raised:
        resolve(model)
    assert len(str(raised.value)) < 500


def test_an_empty_folder_says_what_to_put_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"expected config\.json, \*\.safetensors"):
        resolve(str(tmp_path))


def test_of_several_gguf_files_one_must_be_named(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelFileError, match=r"name one of them: a\.gguf, b\.gguf"):
        resolve(str(tmp_path))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.ckpt"])
def test_pickles_are_never_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelFileError, match="pickled weights can run code"):
        resolve(str(tmp_path / name))


def test_a_model_that_is_not_downloaded_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path))
    with pytest.raises(ModelFileError, match="run `paged download smollm2-135m`"):
        resolve("smollm2-135m")


@pytest.mark.smollm2
def test_the_downloaded_model_is_found(smollm2_path: Path) -> None:
    files = resolve("smollm2-135m")
    assert files.gguf is not None
    assert files.gguf.path == smollm2_path


def test_loading_needs_no_transformers(tmp_path: Path) -> None:
    import subprocess

    path = write_model(tmp_path / "small.gguf", small_llama(), "llama")
    program = f"""
import sys, torch
from model_zoo.loading.files import resolve
from model_zoo.loading.load_config import load_config
from model_zoo.loading.load_params import load_params
from model_zoo.loading.load_tokenizer import load_tokenizer
files = resolve({str(path)!r})
config = load_config(files)
load_tokenizer(files).encode("hi")
load_params(files, config, dtype=torch.float32, device=torch.device("cpu"))
print(*({{"transformers", "accelerate", "huggingface_hub", "safetensors"}} & set(sys.modules)))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == []


def test_a_shape_for_planning_is_told_from_a_model() -> None:
    with pytest.raises(ModelFileError, match="of llama-3-8b only the shape is known, for `paged p"):
        resolve("llama-3-8b")
