"""A launch in another process sees and changes its operands as one in this process would."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from paged.cache_dir import cache_dir
from paged.errors import KernelRunError
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig, InterpretProgram
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.source import KernelSource
from tests.helpers.checked_files import is_whole
from tests.helpers.interpreted import Passed, fresh_program, given, launch, program, updated

FILE = "memory.cu"
CONFIGS = [
    InterpretConfig(),
    InterpretConfig(guard="begin"),
    InterpretConfig(isolate=False),
]


@pytest.fixture(params=CONFIGS, ids=str)
def config(request: pytest.FixtureRequest) -> InterpretConfig:
    return request.param


def test_outputs_start_undefined_and_come_back(config: InterpretConfig) -> None:
    out = torch.zeros(5)
    launch(program(FILE, config), "keep_even", out=Passed(out, "out"), n=5)
    assert out[::2].tolist() == [0.0, 2.0, 4.0]
    assert out[1::2].isnan().all()


def test_updated_operands_start_as_given(config: InterpretConfig) -> None:
    both = torch.full((5,), 9.0)
    launch(program(FILE, config), "keep_even", out=updated(both), n=5)
    assert both.tolist() == [0.0, 9.0, 2.0, 9.0, 4.0]


def test_a_strided_output_leaves_its_gaps(config: InterpretConfig) -> None:
    whole = torch.full((4, 6), 3.0)
    view = whole[:, 1:3]
    launch(
        program(FILE, config),
        "fill_rows",
        block=4,
        out=Passed(view, "out"),
        stride=6,
        num_columns=1,
    )
    assert torch.equal(whole[:, 1], torch.arange(4.0))
    assert whole[:, 2].isnan().all()
    assert (whole[:, [0, 3, 4, 5]] == 3.0).all()


def test_interleaved_views_keep_their_places(config: InterpretConfig) -> None:
    whole = torch.arange(24.0).reshape(4, 6).clone()
    source, target = whole[:, :3], whole[:, 3:]
    launch(
        program(FILE, config),
        "copy_rows",
        block=4,
        source=given(source),
        target=updated(target),
        stride=6,
        num_columns=3,
    )
    assert torch.equal(whole[:, 3:], torch.arange(24.0).reshape(4, 6)[:, :3])
    assert torch.equal(whole[:, :3], torch.arange(24.0).reshape(4, 6)[:, :3])


def test_one_tensor_may_be_read_and_written_under_two_names(config: InterpretConfig) -> None:
    same = torch.arange(8.0)
    launch(
        program(FILE, config),
        "copy_rows",
        block=8,
        source=given(same),
        target=Passed(same, "out"),
        stride=1,
        num_columns=1,
    )
    assert torch.equal(same, torch.arange(8.0))


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.parametrize("num_elements", [1, 3, 4, 1023, 1024, 1025])
def test_addresses_keep_their_remainder_of_sixteen(
    config: InterpretConfig, offset: int, num_elements: int
) -> None:
    base = torch.zeros(num_elements + 8)
    start = (-base.data_ptr() // 4) % 4 + offset
    view = base[start : start + num_elements]
    out = torch.zeros(1, dtype=torch.int64)
    launch(program(FILE, config), "address", source=given(view), out=updated(out))
    assert out.item() % 16 == view.data_ptr() % 16 == 4 * offset


def test_an_empty_operand_may_be_passed(config: InterpretConfig) -> None:
    out = torch.zeros(1, dtype=torch.int64)
    launch(program(FILE, config), "address", source=given(torch.zeros(0)), out=updated(out))


def test_a_kernel_may_have_no_operand(
    config: InterpretConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    launch(program(FILE, config), "say", block=1, n=5)
    assert capsys.readouterr().out == "5\n"


def test_a_pool_of_gigabytes_that_hardly_exists_is_read_and_written() -> None:
    num_floats = 2 << 30
    with mmap.mmap(-1, num_floats * 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        pool = torch.frombuffer(memory, dtype=torch.float32)
        pool[num_floats - 5] = 8.0
        pool[17] = 3.0
        launch(program(FILE), "move_far", block=1, pool=updated(pool), far=1 << 30)
        assert pool[17] == 4.0
        assert pool[1 << 30] == 3.0
        assert pool[num_floats - 1] == 8.0
        launch(
            program(FILE),
            "read_far",
            block=1,
            pool=given(pool),
            out=updated(out := torch.zeros(3)),
            far=1 << 30,
        )
        assert out.tolist() == [4.0, 3.0, 8.0]
        del pool


def test_a_large_dense_input_is_seen_whole() -> None:
    source = torch.arange(16 << 20, dtype=torch.float32)
    out = torch.zeros(3)
    launch(program(FILE), "ends", block=1, source=given(source), out=updated(out), n=len(source))
    assert out.tolist() == [0.0, float(8 << 20), float((16 << 20) - 1)]


@dataclass(frozen=True, slots=True)
class Cached:
    """A program that has run once, in a cache of its own, and the files of it."""

    program: InterpretProgram
    library: Path
    runtime: Path
    server: Path

    def check(self) -> None:
        """Launch, and look at the result."""
        out = torch.zeros(5)
        launch(self.program, "keep_even", out=updated(out), n=5)
        assert out.tolist() == [0.0, 0.0, 2.0, 0.0, 4.0]


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for all these tests: a process can load few copies of the runtime."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cached(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Cached:
    monkeypatch.setenv("PAGED_CACHE_DIR", str(own_cache))
    built = fresh_program(FILE)
    folder = cache_dir("interpret")
    runtime, server = (next(folder.glob(f"{name}*")) for name in ("libpaged_", "paged_server_"))
    libraries = [path for path in folder.glob("*.so") if path != runtime]
    library = next(path for path in libraries if b"keep_even" in path.read_bytes())
    return Cached(built, library, runtime, server)


def lose_idle_servers() -> None:
    """End the servers that have loaded what they need."""
    load_runtime(find_compiler()).servers.close()


@pytest.mark.parametrize("lost", ["library", "runtime", "server"])
@pytest.mark.parametrize("damage", ["deleted", "cut off", "overwritten"])
def test_what_the_cache_loses_in_use_is_compiled_again(
    cached: Cached, lost: str, damage: str
) -> None:
    path: Path = getattr(cached, lost)
    content = path.read_bytes()
    lose_idle_servers()
    path.unlink()
    if damage != "deleted":
        path.write_bytes(content[:3000] if damage == "cut off" else bytes(len(content)))
    cached.check()
    assert path.read_bytes() == content


def test_a_cache_deleted_in_use_is_filled_again(cached: Cached) -> None:
    cached.check()
    shutil.rmtree(cached.library.parent.parent)
    cached.check()  # by a server that has loaded it all
    lose_idle_servers()
    cached.check()
    assert is_whole(cached.library)


def test_a_program_may_be_built_after_the_cache_was_deleted(cached: Cached) -> None:
    shutil.rmtree(cached.library.parent.parent)
    text = "__global__ void fresh(int* out) { *out = 5; }"
    source = KernelSource(name="fresh", text=text, entries=("fresh",))
    out = torch.zeros(1, dtype=torch.int32)
    launch(InterpretBackend(InterpretConfig()).build(source), "fresh", block=1, out=updated(out))
    assert out.item() == 5


def test_a_server_that_cannot_be_had_is_an_error_though_nothing_is_lost(
    cached: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_idle_servers()

    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "posix_spawn", refuse)
    with pytest.raises(KernelRunError, match=r"cannot start .*: Resource temporarily unavailable"):
        cached.check()
