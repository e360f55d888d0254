"""Both compilers refuse a kernel whose parameters do not take what its specification passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from paged.errors import KernelCompileError
from paged.kernel import KernelSpec, Launch, Operand, Scalar, kernel_call
from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.instance import instantiate
from paged.kernel.nvrtc import compile_cubin
from paged.kernel.parameters import explained
from paged.kernel.source import KernelSource, Parameter
from tests.helpers.cuda_sources import needs_nvrtc

Compile = Callable[[KernelSource], object]


def interpret(source: KernelSource) -> object:
    return InterpretBackend(InterpretConfig()).build(source)


def nvrtc(source: KernelSource) -> object:
    return compile_cubin(source, "sm_89")


@pytest.fixture(params=[interpret, pytest.param(nvrtc, marks=needs_nvrtc)])
def compiled(request: pytest.FixtureRequest) -> Compile:
    return request.param


TYPES = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
enum class Mode : int { kOne };
struct Pair { float first, second; };
struct Wrapped { int value; };
struct Later;
struct Params { float* x; int n; };
struct Others { float* x; int n; };
typedef float Row[8];
"""

FITS = [
    ("float", "float"),
    ("const float*", "const float*"),
    ("float*", "const float*"),
    ("const float* __restrict__", "float*"),
    ("const int", "int"),
    ("unsigned", "int"),
    ("int", "unsigned int"),
    ("Mode", "int"),
    ("bool", "bool"),
    ("unsigned char", "bool"),
    ("long", "long long"),
    ("size_t", "long long"),
    ("unsigned long long", "const float*"),
    ("Wrapped", "int"),
    ("Params", "Params"),
    ("void*", "float*"),
    ("const char*", "const __half*"),
    ("const unsigned char*", "const __nv_fp8_e4m3*"),
    ("const unsigned short*", "const __nv_bfloat16*"),
    ("const unsigned*", "const int*"),
    ("const bool*", "const unsigned char*"),
    ("long long*", "long long*"),
    ("unsigned long*", "long long*"),
    ("const float4*", "const float*"),
    ("const int4*", "const float*"),
    ("const uint4*", "const __half*"),
    ("const __half2*", "const __half*"),
    ("__nv_bfloat162*", "__nv_bfloat16*"),
    ("const __nv_fp8x4_e4m3*", "const __nv_fp8_e4m3*"),
    ("const short4*", "const short*"),
    ("const Pair*", "const float*"),
    ("Later*", "float*"),
    ("float**", "long long*"),
    ("const float* const*", "const unsigned long long*"),
    ("const float (*)[16]", "const float*"),
    ("Row*", "float*"),
]

REFUSED = [
    ("float", "int"),
    ("int", "float"),
    ("double", "float"),
    ("long long", "int"),
    ("short", "int"),
    ("bool", "int"),
    ("float*", "int"),
    ("int", "const float*"),
    ("long long", "float*"),
    ("Params", "Others"),
    ("Pair", "double*"),
    ("__half", "unsigned short"),
    ("float*", "__half*"),
    ("const __half*", "const float*"),
    ("const __half*", "const __nv_bfloat16*"),
    ("const __nv_fp8_e4m3*", "const __nv_fp8_e5m2*"),
    ("const int*", "const float*"),
    ("const int*", "const long long*"),
    ("const signed char*", "const float*"),
    ("double*", "float*"),
    ("float4*", "__half*"),
    ("const __half2*", "const __nv_bfloat16*"),
    ("float**", "float*"),
    ("float (*)[16]", "double*"),
]


def source_of(pairs: list[tuple[str, str]]) -> KernelSource:
    """Return a kernel that takes the first of each pair and is passed the second."""
    names = [f"typename Is<{taken}>::type p{i}" for i, (taken, _) in enumerate(pairs)]
    head = "template <class T> struct Is { using type = T; };\n"
    text = f"{TYPES}{head}__global__ void k({', '.join(names)}) {{}}\n".replace("typename ", "")
    passed = tuple(Parameter(what=f"<{i}>", cuda=given) for i, (_, given) in enumerate(pairs))
    return KernelSource(name="k", text=text, entries=("k",), parameters=passed)


def refusal(compiled: Compile, source: KernelSource) -> str:
    with pytest.raises(KernelCompileError) as caught:
        compiled(source)
    return str(caught.value)


def test_values_of_one_kind_fit(compiled: Compile) -> None:
    compiled(source_of(FITS))


def test_others_are_refused_with_both_types(compiled: Compile) -> None:
    lines = refusal(compiled, source_of(REFUSED)).splitlines()[1:]
    for i, (line, (taken, given)) in enumerate(zip(lines, REFUSED, strict=True)):
        start, _, end = line.partition(" takes ")
        assert start == f"parameter {i + 1} of kernel 'k'"
        told, _, passed = end.partition(", and is passed ")
        told = told.replace("long int", "long").replace("short int", "short")
        assert told.replace(" ", "") == taken.replace(" ", "")
        assert passed == f"<{i}> ({given})"


def test_another_number_of_parameters_is_told_with_both_lists(compiled: Compile) -> None:
    text = "template <class T, class U>\n__global__ void k(const T* x, int n,\n  float f) {}\n"
    given = (Parameter(what="operand 'x' of float32", cuda="const float*"),)
    source = KernelSource(name="k", text=text, entries=("k<int, int>",), parameters=given)
    assert refusal(compiled, source).splitlines()[1:] == [
        "kernel 'k<int, int>' takes other parameters than it is passed; it takes: const T* x, int "
        "n, float f; it is passed 1: operand 'x' of float32 (const float*)"
    ]
    none = replace(source, text="#define K __global__ void k\nK(int n) {}", entries=("k",))
    assert "it takes: int; it is passed 0: none" in refusal(compiled, replace(none, parameters=()))
    compiled(replace(none, parameters=None))


def test_all_kernels_of_a_source_are_compared(compiled: Compile) -> None:
    text = "__global__ void first(int n) {}\n__global__ void second(float n) {}\n"
    given = (Parameter(what="'n' of int32", cuda="int"),)
    source = KernelSource(name="k", text=text, entries=("first", "second"), parameters=given)
    assert refusal(compiled, source).splitlines()[1:] == [
        "parameter 1 of kernel 'second' takes float, and is passed 'n' of int32 (int)"
    ]


def test_other_errors_are_kept_without_the_comparison(compiled: Compile) -> None:
    text = "__global__ void k(float n) { undeclared(); }\n"
    given = (Parameter(what="'n' of int32", cuda="int"),)
    source = KernelSource(name="k", text=text, entries=("k",), parameters=given)
    said = refusal(compiled, source)
    assert "parameter 1 of kernel 'k' takes float" in said
    assert "undeclared" in said
    assert "<parameters>" not in said
    absent = refusal(compiled, replace(source, text="__global__ void other(int n) {}"))
    assert "no kernel 'k' in <k>; it has other" in absent
    assert "<parameters>" not in absent


def test_what_has_a_layout_of_its_own_is_not_compared(compiled: Compile) -> None:
    source = source_of([("Pair", "int"), ("float", "float")])
    own = Parameter(what="the strides", cuda=None)
    compiled(replace(source, parameters=(own, Parameter(what="f", cuda="float"))))


def test_macros_of_the_source_do_not_reach_the_comparison(compiled: Compile) -> None:
    text = "#define value 1\n#define type int\n#define T float\n__global__ void k(T n) {}\n"
    given = (Parameter(what="n", cuda="float"),)
    compiled(KernelSource(name="k", text=text, entries=("k",), parameters=given))


def test_a_log_of_other_things_stays_as_it_is() -> None:
    log = "<k>:3:4: error: static assertion failed: mine\n"
    assert explained(KernelSource(name="k", text="", entries=()), log) == log


SPEC = KernelSpec(
    name="scale",
    source="__global__ void scale(const float* x, float* y, int n, float factor) {}",
    launches=(Launch(entry="scale", grid=1, block=32),),
    operands=(
        Operand(name="x", shape="n", dtype="t"),
        Operand(name="y", shape="n", dtype="float32", intent="out"),
    ),
    scalars=(Scalar(name="factor", dtype="float32"),),
    types={"t": ("float32", "float16")},
    parameters=("x", "y", "n", "factor"),
)


def test_a_call_names_the_operand_and_its_dtype() -> None:
    kernel_call(SPEC, torch.ones(3), interpret=True, factor=2.0)
    expected = r"parameter 1 of .* takes const float\*, and is passed operand 'x' of float16"
    with pytest.raises(KernelCompileError, match=expected):
        kernel_call(SPEC, torch.ones(3, dtype=torch.float16), interpret=True, factor=2.0)


def test_a_call_names_the_numbers_that_changed_places() -> None:
    swapped = replace(SPEC, parameters=("x", "y", "factor", "n"))
    with pytest.raises(KernelCompileError) as caught:
        kernel_call(swapped, torch.ones(3), interpret=True, factor=2.0)
    assert str(caught.value).splitlines()[1:] == [
        "parameter 3 of kernel 'scale' takes int, and is passed 'factor' of float32 (float)",
        "parameter 4 of kernel 'scale' takes float, and is passed 'n' of int32 (int)",
    ]


def test_what_is_passed_decides_the_hash() -> None:
    first = instantiate(SPEC, {"t": "float32"}, {})
    second = instantiate(replace(SPEC, parameters=("x", "y", "factor", "n")), {"t": "float32"}, {})
    assert first.content_hash != second.content_hash
