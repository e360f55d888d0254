"""A library is loaded once, and its writable memory found."""

from __future__ import annotations

import numpy as np

from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.kernel_library import build_library
from paged.kernel.backends.loaded_library import LoadedLibrary, load_library
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.source import KernelSource

TEXT = """
namespace a { __device__ short inside[3] = {5, 6, 7}; }
__device__ char large[100000];
__constant__ int fixed = 8;
__shared__ int tile[64];
extern __shared__ int dynamic[];
__global__ void k(int* out) { *out = tile[1] + dynamic[0]; }
"""


def loaded(text: str = TEXT) -> LoadedLibrary:
    compiler = find_compiler()
    source = KernelSource(name="k", text=text, entries=("k",))
    return build_library(source, compiler, load_runtime(compiler), "-O1").loaded


def test_a_library_is_loaded_once() -> None:
    library = loaded()
    assert loaded() is library
    assert load_library(library.path, load_runtime(find_compiler())) is library


def test_variables_lie_where_the_symbol_table_says() -> None:
    library = loaded()
    assert {name: size for name, (_, size) in library.places.items()} == {
        "_ZN1a6insideE": 6,
        "large": 100_000,
        "fixed": 4,
    }
    offset, size = library.places["_ZN1a6insideE"]
    assert library.first_values[offset : offset + size].view(np.int16).tolist() == [5, 6, 7]


def test_shared_memory_is_a_block_of_its_own() -> None:
    library = loaded()
    assert library.module.tls_bytes >= 227 * 1024 + 64 * 4
    assert library.module.dynamic_shared
    plain = loaded("__global__ void k(int* out) { *out = 1; }")
    assert plain.module.tls_bytes == 0
    assert plain.module.dynamic_shared is None


def test_values_are_written_back_whole() -> None:
    library = loaded()
    changed = library.first_values.copy()
    offset, _ = library.places["large"]
    changed[offset + 99_999] = 1
    library.write_values(changed)
    assert np.array_equal(library.read_values(), changed)
    library.write_values(library.first_values)
    assert np.array_equal(library.read_values(), library.first_values)
