"""A damaged model file loads, or is refused with an error of ours; nothing else happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from model_zoo.loading.files import resolve
from model_zoo.loading.load_config import load_config
from model_zoo.loading.load_params import load_params
from model_zoo.loading.load_tokenizer import load_tokenizer
from paged.errors import PagedError
from tests.helpers.gguf_files import small_llama, write_model
from tests.helpers.tokenizer_folder import write_folder

many = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
DAMAGE = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4
)

GONE = "without the field"
VALUES = st.sampled_from(
    [
        *(None, True, 0, -1, 0.5, 2**31, 2**63, 10**400, float("nan"), "", "x", "\ud800", "BPE"),
        *([], [0], [[]], ["a", "b"], {}, {"type": "x"}),
    ]
)


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small model, which tests overwrite."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    return write_model(path, small_llama(), "llama")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small model, which tests overwrite."""
    path = write_folder(tmp_path_factory.mktemp("folder"))
    (path / "config.json").write_text(json.dumps(small_llama().values))
    save_file(dict(small_llama().tensors()), path / "model.safetensors")
    return path


def load(model: Path) -> bool:
    """Load a model and use its tokenizer; say whether it was refused."""
    try:
        files = resolve(str(model))
        config = load_config(files)
        tokenizer = load_tokenizer(files)
        tokenizer.decode(tokenizer.encode("some text"))
        if config.num_params < 10**6:
            load_params(files, config, dtype=torch.float32, device=torch.device("cpu"))
    except PagedError:
        return True
    return False


def damaged(content: bytes, damage: list[tuple[float, int]], num_bytes: int) -> bytes:
    """Return a file's bytes, some of the first ones changed."""
    changed = bytearray(content)
    for place, change in damage:
        changed[int(place * min(num_bytes, len(content)))] ^= change
    return bytes(changed)


def test_what_is_whole_is_read(gguf: Path, folder: Path) -> None:
    assert not load(gguf)
    assert not load(folder)


@many
@given(damage=DAMAGE)
def test_a_damaged_gguf_file_is_read_or_refused(
    gguf: Path, damage: list[tuple[float, int]]
) -> None:
    whole = gguf.read_bytes()
    try:
        gguf.write_bytes(damaged(whole, damage, 5000))
        load(gguf)
    finally:
        gguf.write_bytes(whole)


@many
@given(
    name=st.sampled_from(
        ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
    ),
    damage=DAMAGE,
)
def test_a_damaged_folder_is_read_or_refused(
    folder: Path, name: str, damage: list[tuple[float, int]]
) -> None:
    whole = (folder / name).read_bytes()
    try:
        (folder / name).write_bytes(damaged(whole, damage, 3000))
        load(folder)
    finally:
        (folder / name).write_bytes(whole)


def fields(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every object and list of a file with each key of it, or its first indices."""
    if isinstance(value, dict | list):
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys[:20]:
            yield value, key
            yield from fields(value[key])


@many
@given(
    name=st.sampled_from(("config.json", "tokenizer.json", "tokenizer_config.json")),
    place=st.floats(0, 1, exclude_max=True),
    value=VALUES | st.just(GONE),
)
def test_a_field_of_another_kind_is_read_or_refused(
    folder: Path, name: str, place: float, value: object
) -> None:
    whole = (folder / name).read_text()
    content = json.loads(whole)
    found = list(fields(content))
    owner, key = found[int(place * len(found))]
    if value == GONE:
        del owner[key]
    else:
        owner[key] = value
    try:
        (folder / name).write_text(json.dumps(content))
        load(folder)
    finally:
        (folder / name).write_text(whole)
