"""Toolkits are taken only whole, and what is missing is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paged.errors import BackendUnavailable
from paged.kernel import toolkit
from paged.kernel.toolkit import Place, Toolkit, examine, find_tool, find_toolkit, places, show
from tests.helpers.cuda_sources import needs_nvdisasm, needs_nvrtc


@pytest.fixture
def fresh_search() -> Iterator[None]:
    """Forget what was found, before and after."""
    find_toolkit.cache_clear()
    find_tool.cache_clear()
    yield
    find_toolkit.cache_clear()
    find_tool.cache_clear()


def place(root: Path) -> Place:
    return Place(name="a test", library_dir=root / "lib", include_dir=root / "include")


def with_library(root: Path, content: bytes = b"no library") -> None:
    (root / "lib").mkdir()
    (root / "lib" / "libnvrtc.so.12").write_bytes(content)


def with_headers(root: Path, version: int) -> None:
    (root / "include").mkdir()
    header = root / "include" / "cuda_runtime_api.h"
    header.write_text(f"/* ... */\n#define CUDART_VERSION  {version}\n")


def test_an_empty_place_says_that_there_is_no_library(tmp_path: Path) -> None:
    assert examine(place(tmp_path)).found == f"no libnvrtc.so in {tmp_path / 'lib'}"


def test_a_library_without_headers_is_refused(tmp_path: Path) -> None:
    with_library(tmp_path)
    assert examine(place(tmp_path)).found == f"no CUDA headers in {tmp_path / 'include'}"


def test_a_library_that_cannot_be_loaded_is_refused_with_the_loaders_words(tmp_path: Path) -> None:
    with_library(tmp_path)
    with_headers(tmp_path, 12090)
    found = examine(place(tmp_path)).found
    assert isinstance(found, str)
    assert "cannot be loaded" in found
    assert "libnvrtc.so.12" in found


@needs_nvrtc
def test_headers_of_another_version_are_refused(tmp_path: Path) -> None:
    real = find_toolkit()
    with_headers(tmp_path, 11080)
    mixed = Place(name="mixed", library_dir=real.library.parent, include_dir=tmp_path / "include")
    found = examine(mixed).found
    assert found == f"NVRTC {show(real.version)} beside headers of CUDA 11.8: must be equal"


@needs_nvrtc
def test_the_toolkit_of_this_machine_has_the_headers_of_its_version() -> None:
    found = find_toolkit()
    assert (found.include_dirs[0] / "cuda_fp16.h").is_file()
    assert found in [examine(place).found for place in places()]


def test_without_any_toolkit_every_place_and_reason_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_search: None
) -> None:
    monkeypatch.setattr(toolkit, "places", lambda: iter([place(tmp_path)]))
    with pytest.raises(BackendUnavailable) as raised:
        find_toolkit()
    assert "pip install 'paged[cuda12]'" in str(raised.value)
    assert f"a test: no libnvrtc.so in {tmp_path / 'lib'}" in str(raised.value)


def test_cuda_home_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = {place.name: place for place in places()}
    assert found["$CUDA_HOME"].library_dir == tmp_path / "lib64"


@needs_nvrtc
def test_wheels_of_cuda_12_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [place.name for place in places()]
    assert names.index("CUDA 12 wheels") < names.index("CUDA 13 wheels")
    usable = [place.name for place in places() if isinstance(examine(place).found, Toolkit)]
    assert usable


@needs_nvdisasm
def test_a_disassembler_is_found() -> None:
    assert find_tool("nvdisasm").name == "nvdisasm"


def test_a_tool_that_is_nowhere_is_an_error_with_advice(
    monkeypatch: pytest.MonkeyPatch, fresh_search: None
) -> None:
    with pytest.raises(BackendUnavailable, match="pip install nvidia-cuda-no-such-tool"):
        find_tool("no-such-tool")


def test_a_tool_on_the_path_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_search: None
) -> None:
    tool = tmp_path / "nv-own-tool"
    tool.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable):
        find_tool("nv-own-tool")  # not executable
    tool.chmod(0o755)
    find_tool.cache_clear()
    assert find_tool("nv-own-tool") == tool
