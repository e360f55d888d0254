"""Without the packages of `paged[model]` every command ends in one line, or does without them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from paged.extras import MODEL_PACKAGES, SERVE_PACKAGES, missing_package
from tests.helpers.gguf_files import small_llama, write_model

SCRIPT = """
import sys
from paged.cli.main import main

class Nowhere:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Nowhere())
sys.exit(main(sys.argv[2:]))
"""


def run_without(package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where importing a package fails."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, package, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_these_are_the_packages_of_the_extra(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = {
        name: [re.split("[<>=]", each)[0] for each in packages]
        for name, packages in project["optional-dependencies"].items()
    }
    assert extras["model"] == list(MODEL_PACKAGES)
    assert extras["serve"] == ["paged[model]", *SERVE_PACKAGES]


@pytest.mark.parametrize("command", ["serve tiny", "bench serve"])
def test_without_the_packages_of_a_server_it_says_what_to_install(command: str) -> None:
    package = "fastapi" if command.startswith("serve") else "httpx"
    ran = run_without(package, *command.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    last = ran.stderr.splitlines()[-1]
    assert last.endswith(f"error: {package} is not installed; pip install 'paged[serve]'")


@pytest.mark.parametrize(
    "command", ["kernels list", "generate hello --model tiny", "generate a --kernel attention=v1"]
)
def test_without_torch_it_says_what_to_install(command: str) -> None:
    ran = run_without("torch", *command.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    name = command.split(maxsplit=1)[0]
    *others, last = ran.stderr.splitlines()
    assert last == f"paged {name}: error: torch is not installed; pip install 'paged[model]'"
    assert others in ([], ["loading tiny"])


def test_a_folder_is_planned_without_torch_and_a_file_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(small_llama().values))
    planned = run_without("torch", "plan", str(tmp_path), "--gpu-memory", "8MiB")
    assert (planned.returncode, planned.stderr) == (0, "")
    path = write_model(tmp_path / "small.gguf", small_llama(), "llama")
    refused = run_without("gguf", "plan", str(path), "--gpu-memory", "8MiB")
    assert (refused.returncode, refused.stdout, refused.stderr) == (
        *(2, ""),
        "paged plan: error: gguf is not installed; pip install 'paged[model]'\n",
    )


def test_a_failed_import_of_anything_else_is_raised_again() -> None:
    assert missing_package(ModuleNotFoundError(name="uvicorn")).endswith("'paged[serve]'")
    bug = ModuleNotFoundError(name="paged.nothing")
    with pytest.raises(ModuleNotFoundError) as raised:
        missing_package(bug)
    assert raised.value is bug
