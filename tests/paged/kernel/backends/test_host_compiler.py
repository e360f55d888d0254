"""The host compiler is found by CXX or PATH, and told apart by version and CPU."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import pytest

from paged.errors import BackendUnavailable
from paged.kernel.backends.host_compiler import (
    GCC_FLAGS,
    MAX_ERRORS,
    HostCompiler,
    find_compiler,
)


def test_a_compiler_is_found_with_its_version() -> None:
    compiler = find_compiler()
    assert compiler.version
    assert "-ffp-contract=off" in compiler.flags


def test_the_chosen_compiler_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "mycxx"
    script.write_text("#!/bin/sh\necho my compiler 1.0 clang $1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", f"{script} --extra")
    compiler = find_compiler()
    assert compiler.command == (str(script), "--extra")
    assert compiler.version == "my compiler 1.0 clang --extra"
    assert not set(GCC_FLAGS) & set(compiler.flags)
    assert compiler.step_flags == ("-fsanitize-coverage=trace-pc,no-prune",)


def test_a_compiler_that_goes_on_for_ever_is_ended_with_what_it_started(tmp_path: Path) -> None:
    script = tmp_path / "mycxx"
    # The child keeps the pipes open, as cc1plus does when g++ alone is ended.
    script.write_text("#!/bin/sh\nsleep 100 &\necho $! > child\nwait\n")
    script.chmod(0o755)
    compiler = HostCompiler(command=(str(script),), version="1")
    done = compiler.run((), tmp_path, limit_s=0.5)
    assert done.returncode != 0
    assert done.stderr == f"{script}: ended after 0.5 s without a result\n"
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    assert any(_has_ended(child) for _ in range(100))


def _has_ended(status: Path) -> bool:
    """Say whether a process has ended; one that was killed just now may take a moment."""
    if not status.exists() or status.read_text().split()[2] == "Z":
        return True
    time.sleep(0.05)
    return False


def test_a_compiler_has_bounds_of_memory_time_and_disk(tmp_path: Path) -> None:
    script = tmp_path / "mycxx"
    script.write_text("#!/bin/sh\nulimit -v\nulimit -t\nulimit -f\n")
    script.chmod(0o755)
    done = HostCompiler(command=(str(script),), version="1").run((), tmp_path)
    assert done.stdout.split() == [str(8 << 20), "600", str(1 << 21)]


def test_messages_of_a_compiler_are_few() -> None:
    text = "".join(f"int x{i} = y{i};\n" for i in range(1000))
    library, messages = find_compiler().compile(text, ("-shared",), {})
    assert library is None
    assert messages.count("error:") == MAX_ERRORS


def test_without_a_compiler_the_backend_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BackendUnavailable, match=r"found none of: g\+\+, clang\+\+"):
        find_compiler()
    monkeypatch.setenv("CXX", "absent-cxx")
    with pytest.raises(BackendUnavailable, match="found none of: absent-cxx"):
        find_compiler()


def test_other_machines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setenv("PATH", str(tmp_path))  # so that no earlier answer is found again
    monkeypatch.setenv("CXX", "some-other-cxx")
    with pytest.raises(BackendUnavailable, match="runs on x86-64, got aarch64"):
        find_compiler()


def test_a_refused_text_gives_the_compilers_messages() -> None:
    binary, messages = find_compiler().compile("int f( {", ("-shared",), {})
    assert binary is None
    assert "error" in messages


def test_headers_are_found_before_others() -> None:
    compiler = find_compiler()
    text = '#include "a/b.h"\nstatic_assert(VALUE == 7, "");'
    binary, messages = compiler.compile(text, ("-shared",), {"a/b.h": "#define VALUE 7\n"})
    assert binary is not None, messages
    assert binary.startswith(b"\x7fELF")


def test_the_preprocessor_alone() -> None:
    assert "int seven = 7;" in (find_compiler().preprocess("int seven = X;", ("-DX=7",)) or "")
    assert find_compiler().preprocess('#include "absent.h"', ()) is None


def test_the_fingerprint_tells_compilers_apart() -> None:
    one = HostCompiler(command=("g++",), version="g++ 1")
    two = HostCompiler(command=("g++",), version="g++ 2")
    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == HostCompiler(command=("c++",), version="g++ 1").fingerprint


@pytest.mark.parametrize(
    ("version", "has_pattern"),
    [
        ("g++ (Debian 12.2.0-14) 12.2.0", True),
        ("g++ (Ubuntu 11.4.0) 11.4.0", False),
        ("g++", False),
    ],
)
def test_variables_without_a_value_get_a_pattern_where_the_compiler_can(
    version: str, has_pattern: bool
) -> None:
    flags = HostCompiler(command=("g++",), version=version).observed_flags
    assert "-fsanitize=thread" in flags
    assert ("-ftrivial-auto-var-init=pattern" in flags) == has_pattern


def test_sanitized_builds_are_observed_and_tell_of_indices() -> None:
    compiler = find_compiler()
    assert set(compiler.observed_flags) < set(compiler.sanitized_flags)
    assert "-fsanitize=bounds" in compiler.sanitized_flags


def test_arguments_given_with_the_compiler_are_told_apart() -> None:
    plain = HostCompiler(command=("g++",), version="g++ 1")
    assert plain.fingerprint != HostCompiler(command=("g++", "-DX"), version="g++ 1").fingerprint
