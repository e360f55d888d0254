"""The shape of the project: top-level names, sizes, docstrings, a test for each module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP_LEVEL = {
    *("paged", "kernels_cu", "model_zoo", "experiments", "bench", "tests", "docs"),
    *("pyproject.toml", "README.md", "Makefile", "CONTRIBUTING.md", "LICENSE"),
    *(".ci", ".gitignore"),
}
SOURCE = {"paged", "model_zoo", "experiments"}
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60

# Absolute paths of one machine, and package registries. The brackets keep this file clean.
MACHINE_PATH = re.compile(r"(?<![\w.])/(wor[k]|tm[p]|hom[e]|roo[t]|op[t])/")
REGISTRY = re.compile(r"https?://\S*(pyp[i]|pythonhoste[d]|npmj[s])\.")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


@pytest.fixture(scope="module")
def modules(repository: Path, project_files: list[Path]) -> dict[Path, str]:
    """Text of every Python file, by its path in the checkout."""
    return {name: (repository / name).read_text() for name in project_files if name.suffix == ".py"}


@pytest.fixture(scope="module")
def trees(modules: dict[Path, str]) -> dict[Path, ast.Module]:
    """Syntax tree of every source module; tests and benchmarks are left out."""
    return {name: ast.parse(text) for name, text in modules.items() if name.parts[0] in SOURCE}


def test_the_top_level_holds_exactly_the_agreed_names(project_files: list[Path]) -> None:
    assert {name.parts[0] for name in project_files} == TOP_LEVEL


def test_no_file_is_longer_than_the_limit(modules: dict[Path, str]) -> None:
    sizes = {name: text.count("\n") for name, text in modules.items()}
    too_long = [f"{name}: {size} lines" for name, size in sizes.items() if size > MAX_FILE_LINES]
    assert not too_long, "\n".join(too_long)


def test_no_function_is_longer_than_the_limit(modules: dict[Path, str]) -> None:
    too_long = [
        f"{name}:{node.lineno} {node.name}"
        for name, text in modules.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Function) and _num_lines(node) > MAX_FUNCTION_LINES
    ]
    assert not too_long, "\n".join(too_long)


def _num_lines(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_everything_public_has_a_docstring(trees: dict[Path, ast.Module]) -> None:
    missing = [str(name) for name, tree in trees.items() if ast.get_docstring(tree) is None]
    missing += [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in trees.items()
        for node in _public(tree)
        if ast.get_docstring(node) is None
    ]
    assert not missing, "\n".join(missing)


def _public(scope: ast.Module | ast.ClassDef) -> Iterator[Documented]:
    for node in scope.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def test_every_module_with_logic_has_a_test_at_the_mirrored_path(
    trees: dict[Path, ast.Module], project_files: list[Path]
) -> None:
    wanted = {name: _test_path(name) for name, tree in trees.items() if _has_logic(tree)}
    present = set(project_files)
    missing = [f"{name} needs {test}" for name, test in wanted.items() if test not in present]
    assert not missing, "\n".join(missing)


def _test_path(module: Path) -> Path:
    return Path("tests", *module.parts[:-1], f"test_{module.stem.strip('_')}.py")


def _has_logic(tree: ast.Module) -> bool:
    """Say whether a module computes anything: a protocol or a plain record does not."""
    return any(
        isinstance(node, ast.stmt) and not isinstance(node, ast.Expr)
        for scope in ast.walk(tree)
        if isinstance(scope, Function)
        for node in scope.body
    )


def test_no_file_names_a_path_of_one_machine_or_a_registry(
    repository: Path, project_files: list[Path]
) -> None:
    found = [
        f"{name}:{number} {line.strip()}"
        for name in project_files
        for number, line in enumerate(_lines(repository / name), start=1)
        if MACHINE_PATH.search(line) or REGISTRY.search(line)
    ]
    assert not found, "\n".join(found)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()
