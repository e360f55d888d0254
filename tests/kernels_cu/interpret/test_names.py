"""Every name that popular kernels call exists in the interpreter and in NVIDIA's headers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import find_toolkit
from tests.helpers.cuda_names import HEADERS
from tests.helpers.cuda_sources import needs_nvrtc

INTERPRET = Path(__file__).resolve().parents[3] / "kernels_cu" / "interpret"


def source_of(header: str) -> KernelSource:
    """Return a source that names each function and type of a header once."""
    uses = "\n".join(f"using ::{name};" for name in dict.fromkeys(HEADERS[header]))
    text = f"#include <{header}>\nnamespace names {{\n{uses}\n}}\n__global__ void k() {{}}\n"
    return KernelSource(name=header.partition(".")[0], text=text, entries=("k",))


@pytest.mark.parametrize("header", HEADERS)
def test_the_interpreter_has_every_name(header: str) -> None:
    InterpretBackend(InterpretConfig()).build(source_of(header))


@needs_nvrtc
@pytest.mark.parametrize("header", HEADERS)
def test_nvidia_has_every_name(header: str) -> None:
    assert compile_cubin(source_of(header), "sm_90").image.startswith(b"\x7fELF")


@needs_nvrtc
@pytest.mark.parametrize("header", ["cuda_fp16.h", "cuda_bf16.h"])
def test_nvidias_header_declares_nothing_that_the_list_lacks(header: str) -> None:
    mark = header.removeprefix("cuda_").removesuffix(".h").upper()
    text = next(
        (folder / header).read_text()
        for folder in find_toolkit().include_dirs
        if (folder / header).is_file()
    )
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)|\b\w+_DEPRECAT\w+\s*\(", "", text)
    declared = set(re.findall(rf"_{mark}_DECL__\s+[\w\s*&]*?\b(\w+)\s*\(", text))
    assert len(declared) > 150
    hints = {f"__ld{hint}" for hint in ("ca", "cg", "cs", "cv", "lu")}
    hints |= {f"__st{hint}" for hint in ("wb", "cg", "cs", "wt")}
    shuffles = {
        f"__shfl{way}{sync}" for way in ("", "_up", "_down", "_xor") for sync in ("", "_sync")
    }
    assert declared - hints - shuffles - set(HEADERS[header]) == set()


@pytest.mark.parametrize("march", ["x86-64-v2", "x86-64-v3"])
def test_the_headers_need_no_newer_processor(march: str, tmp_path: Path) -> None:
    names = sorted(
        path.relative_to(INTERPRET / "include") for path in (INTERPRET / "include").rglob("*.h")
    )
    unit = tmp_path / "all.cpp"
    unit.write_text(
        "".join(f"#include <{name}>\n" for name in names if name.name != "portable_interpret.h")
    )
    command = [*find_compiler().command, "-std=c++17", f"-march={march}", "-fsyntax-only"]
    options = ["-DPAGED_INTERPRET", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]
    # Vectors of eight are passed on within one library only, whatever they are passed in.
    options.append("-Wno-psabi")
    places = [f"-I{INTERPRET / 'include'}", "-include", str(INTERPRET / "cuda_interpret.h")]
    done = subprocess.run(
        [*command, *options, *places, str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
