"""The folder of results: all or nothing, and refused before the run where it can be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.output import published, require_writable
from paged.errors import ConfigError


def test_results_appear_at_the_end_and_other_files_stay(tmp_path):
    out = tmp_path / "deep" / "results"
    with published(out) as scratch:
        (scratch / "a.csv").write_text("new")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["a.csv"]
    (out / "mine.txt").write_text("kept")
    (out / "old.png").write_text("stale")
    with published(out, owned=["a.csv", "old.png"]) as scratch:
        (scratch / "a.csv").write_text("newer")
        assert (out / "a.csv").read_text() == "new"
    assert sorted(path.name for path in out.iterdir()) == ["a.csv", "mine.txt"]
    assert (out / "a.csv").read_text() == "newer"
    assert [path.name for path in out.parent.iterdir()] == ["results"]


def test_results_that_fail_leave_no_new_folder(tmp_path):
    def write_half() -> None:
        with published(tmp_path / "deep" / "results") as scratch:
            (scratch / "a.csv").write_text("half")
            raise ConfigError("no")

    with pytest.raises(ConfigError):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_results_and_no_scratch(tmp_path):
    out = tmp_path / "results"
    out.mkdir()
    (out / "a.csv").write_text("old")

    def write_half() -> None:
        with published(out, owned=["a.csv"]) as scratch:
            (scratch / "a.csv").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert (out / "a.csv").read_text() == "old"


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="file is not a writable folder"):
            require_writable(out)
    require_writable(tmp_path / "new" / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_way_leaves_every_old_file(tmp_path):
    out = tmp_path / "out"
    (out / "b.csv" / "mine").mkdir(parents=True)
    (out / "a.csv").write_text("old")

    def write() -> None:
        with published(out, owned=["c.png"]) as scratch:
            for name in ("a.csv", "b.csv"):
                (scratch / name).write_text("new")

    with pytest.raises(ConfigError, match=r"b.csv: a folder has that name"):
        write()
    assert sorted(path.name for path in out.iterdir()) == ["a.csv", "b.csv"]
    assert (out / "a.csv").read_text() == "old"


def test_a_move_that_fails_is_undone(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a.csv", "b.csv", "stale.png"):
        (out / name).write_text(f"old {name}")
    replace = Path.replace

    def fail_on_b(self: Path, target: Path) -> Path:
        if self.name == "b.csv" and target.parent == out and "written" in self.parts:
            raise OSError("disk full")
        return replace(self, target)

    def write(out: Path) -> None:
        with published(out, owned=["stale.png"]) as scratch:
            for name in ("a.csv", "b.csv"):
                (scratch / name).write_text("new")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail_on_b)
        with pytest.raises(OSError, match="disk full"):
            write(out)
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        name: f"old {name}" for name in ("a.csv", "b.csv", "stale.png")
    }
    fresh = tmp_path / "new" / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            write(fresh)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_is_replaced_and_what_it_points_at_stays(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "mine").write_text("mine")
    (out / "a.csv").symlink_to(tmp_path / "mine")
    with published(out) as scratch:
        (scratch / "a.csv").write_text("new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (out / "a.csv").is_symlink()


@pytest.mark.parametrize(
    "name", ["dangling", "loop", "dangling/below", "a" * 300, f"new/{'a' * 300}", "a\0b"]
)
def test_a_name_that_cannot_be_made_is_refused(name, tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="cannot write results to"):
        require_writable(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc on this system")
def test_a_file_system_that_takes_no_folders_is_refused():
    with pytest.raises(ConfigError, match="cannot write results to /proc/x"):
        require_writable(Path("/proc/x"))


@pytest.mark.parametrize("name", ["b" * 250, "deep/er", "x/../x/y"])
def test_an_unusual_name_works(name, tmp_path):
    require_writable(tmp_path / name)
    with published(tmp_path / name) as scratch:
        (scratch / "a.csv").write_text("new")
    assert (tmp_path / name / "a.csv").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may write everywhere")
def test_permissions_are_asked(tmp_path):
    for mode in (0o000, 0o555):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir(mode)
        with pytest.raises(ConfigError, match="is not a writable folder"):
            require_writable(folder / "d" / "x")
    parent = tmp_path / "parent"
    (parent / "out").mkdir(parents=True)
    parent.chmod(0o555)
    require_writable(parent / "out")
    parent.chmod(0o755)
