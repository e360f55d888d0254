"""The configuration of host kernels, and what happens where they cannot run."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from paged.errors import BackendUnavailable, ConfigError
from paged.kernel.backends import host
from paged.kernel.backends.host import HostConfig, find_host, load_host
from paged.kernel.backends.host_level import LEVELS, HostLevel, cpu_levels


@pytest.fixture
def no_cpu_but_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a CPU of the lowest level."""
    monkeypatch.setattr(host, "cpu_levels", lambda: (LEVELS["baseline"],))
    load_host.cache_clear()
    find_host.cache_clear()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_threads": 0}, "num_threads: expected an integer from 1 to 2147483647, got 0"),
        ({"num_threads": 1.5}, "num_threads: expected an integer from 1 to 2147483647, got 1.5"),
        ({"level": "neon"}, "host level must be one of avx512, avx2, baseline, got 'neon'"),
    ],
)
def test_a_wrong_configuration_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        HostConfig(**config)  # type: ignore[arg-type]


def test_the_default_is_the_best_level_of_this_cpu() -> None:
    assert load_host(HostConfig()).level == cpu_levels()[0]


def test_the_environment_says_what_a_configuration_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_host.cache_clear()
    monkeypatch.setenv("PAGED_HOST_LEVEL", "baseline")
    monkeypatch.setenv("PAGED_HOST_THREADS", "3")
    loaded = load_host(HostConfig())
    assert (loaded.level.name, loaded.num_threads) == ("baseline", 3)
    best = load_host(HostConfig(level=cpu_levels()[0].name, num_threads=1))
    assert (best.level, best.num_threads) == (cpu_levels()[0], 1)
    load_host.cache_clear()
    monkeypatch.setenv("PAGED_HOST_THREADS", "-1")
    with pytest.raises(ConfigError, match="PAGED_HOST_THREADS must be a number of at least 1"):
        load_host(HostConfig())
    load_host.cache_clear()


@pytest.mark.usefixtures("no_cpu_but_baseline")
def test_a_level_that_the_cpu_lacks_is_refused() -> None:
    with pytest.raises(BackendUnavailable, match="cannot run host level 'avx2'; it can run base"):
        load_host(HostConfig(level="avx2"))


@pytest.mark.usefixtures("no_cpu_but_baseline")
def test_an_unavailable_backend_is_warned_of_once() -> None:
    config = HostConfig(level="avx2")
    with pytest.warns(RuntimeWarning, match="torch serves instead, more slowly: this CPU cannot"):
        assert find_host(config) is None
    assert find_host(config) is None
    find_host.cache_clear()


def test_without_a_temporary_folder_torch_serves_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    host.load_host_library.cache_clear()
    config = HostConfig(level="baseline", num_threads=7)
    with pytest.warns(RuntimeWarning, match=r"torch serves instead.* set TMPDIR to a writable"):
        assert find_host(config) is None
    assert find_host(config) is None
    find_host.cache_clear()


def test_without_a_compiler_a_library_of_the_cache_still_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_host(HostConfig())

    def no_compiler() -> None:
        raise BackendUnavailable("no compiler")

    monkeypatch.setattr("paged.kernel.backends.host_library.find_compiler", no_compiler)
    load_host.cache_clear()
    host.load_host_library.cache_clear()
    assert load_host(HostConfig()).level == cpu_levels()[0]


@pytest.mark.parametrize("level", cpu_levels(), ids=lambda level: level.name)
def test_each_level_of_this_cpu_loads(level: HostLevel) -> None:
    assert load_host(HostConfig(level=level.name)).level == level
