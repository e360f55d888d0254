"""Variables of a program: by name, apart from other programs', and without addresses."""

from __future__ import annotations

import numpy as np
import pytest

from paged.errors import OperandError
from paged.kernel.backends.host_compiler import find_compiler
from paged.kernel.backends.kernel_library import build_library
from paged.kernel.backends.loaded_library import LoadedLibrary
from paged.kernel.backends.runtime_library import load_runtime
from paged.kernel.backends.variables import Variables
from paged.kernel.source import KernelSource

TEXT = """
__device__ int counts[4] = {1, 2, 3, 4};
__device__ double zero;
__global__ void k() {}
__device__ int twice(int x) { return 2 * x; }
__device__ int (*table[1])(int) = {twice};
"""


@pytest.fixture
def library() -> LoadedLibrary:
    compiler = find_compiler()
    source = KernelSource(name="k", text=TEXT, entries=("k",))
    return build_library(source, compiler, load_runtime(compiler), "-O1").loaded


def test_variables_start_as_the_source_sets_them(library: LoadedLibrary) -> None:
    variables = Variables(library)
    assert not variables.is_empty
    assert variables.read("counts", np.int32, (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert variables.read("zero", np.float64, ()) == 0.0


def test_what_is_written_is_read(library: LoadedLibrary) -> None:
    one, other = Variables(library), Variables(library)
    one.write("counts", np.arange(4, dtype=np.int32)[::-1])
    assert one.read("counts", np.int32, (4,)).tolist() == [3, 2, 1, 0]
    assert other.read("counts", np.int32, (4,)).tolist() == [1, 2, 3, 4]


def test_names_and_sizes_are_checked(library: LoadedLibrary) -> None:
    with pytest.raises(OperandError, match=r"got 'absent'; .* are: counts, table, zero"):
        Variables(library).read("absent", np.int32, ())
    with pytest.raises(OperandError, match="variable 'zero' has 8 bytes, got 4"):
        Variables(library).write("zero", np.zeros(1, np.float32))


def test_only_what_has_changed_is_told_to_another_process(library: LoadedLibrary) -> None:
    variables = Variables(library)
    values, changed = np.frombuffer(variables.pack(), np.uint8).reshape(2, -1)
    assert not changed.any()
    assert len(values) == len(library.first_values)
    variables.write("zero", np.array(-0.0))
    _, changed = np.frombuffer(variables.pack(), np.uint8).reshape(2, -1)
    assert changed.sum() == 1

    other = Variables(library)
    other.unpack(variables.pack())
    assert np.signbit(other.read("zero", np.float64, ()))
    assert other.read("table", np.uint64, (1,)) == variables.read("table", np.uint64, (1,))


def test_values_go_into_the_library_and_back(library: LoadedLibrary) -> None:
    variables, other = Variables(library), Variables(library)
    variables.write("counts", np.full(4, 9, np.int32))
    variables.install()
    other.collect()
    Variables(library).install()
    assert other.read("counts", np.int32, (4,)).tolist() == [9, 9, 9, 9]
