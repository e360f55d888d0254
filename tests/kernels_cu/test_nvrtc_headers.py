"""The standard headers for NVRTC: each stands alone, all agree with CUDA's own."""

from __future__ import annotations

import numpy as np
import pytest

from paged.errors import KernelCompileError
from paged.kernel.nvrtc import SHIM_DIR, compile_cubin
from paged.kernel.source import KernelSource
from tests.helpers.cuda_sources import needs_nvrtc

pytestmark = needs_nvrtc

HEADERS = sorted(path.name for path in SHIM_DIR.iterdir() if path.suffix != ".md")
CUDA_HEADERS = (
    *("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_pipeline.h"),
    *("cooperative_groups.h", "cooperative_groups/reduce.h", "math_constants.h", "vector_types.h"),
)
KERNEL = "__global__ void k() {}\n"

INTEGERS = {
    **{"signed char": "int8", "unsigned char": "uint8", "short": "int16"},
    **{"unsigned short": "uint16", "int": "int32", "unsigned": "uint32"},
    **{"long": "int64", "unsigned long": "uint64"},
    **{"long long": "int64", "unsigned long long": "uint64"},
}
FLOATS = {"float": "float32", "double": "float64"}

TRAITS = """
enum class Color : unsigned short { red };
struct Base {};
struct Derived : Base { int x; };
using namespace std;
static_assert(is_same_v<remove_cvref_t<const int&>, int> && !is_same_v<int, unsigned>, "");
static_assert(is_same_v<remove_pointer_t<float*>, float>, "");
static_assert(is_same_v<remove_extent_t<float[3]>, float>, "");
static_assert(is_same_v<decay_t<const float(&)[4]>, const float*>, "");
static_assert(is_same_v<conditional_t<true, int, float>, int>, "");
static_assert(is_same_v<conditional_t<false, int, float>, float>, "");
static_assert(is_same_v<make_unsigned_t<int>, unsigned>, "");
static_assert(is_same_v<make_unsigned_t<long>, unsigned long>, "");
static_assert(is_same_v<make_signed_t<unsigned long long>, long long>, "");
static_assert(is_same_v<underlying_type_t<Color>, unsigned short>, "");
static_assert(is_same_v<invoke_result_t<plus<>, int, float>, float>, "");
static_assert(is_integral_v<const bool> && is_integral_v<char> && !is_integral_v<float>, "");
static_assert(is_floating_point_v<double> && !is_floating_point_v<int>, "");
static_assert(is_arithmetic_v<short> && !is_arithmetic_v<int*> && !is_arithmetic_v<Base>, "");
static_assert(is_signed_v<int> && is_signed_v<float> && !is_signed_v<unsigned>, "");
static_assert(is_unsigned_v<unsigned char> && !is_unsigned_v<int> && !is_unsigned_v<Base>, "");
static_assert(is_pointer_v<int* const> && !is_pointer_v<int> && !is_pointer_v<const int>, "");
static_assert(is_array_v<int[2]> && !is_array_v<int*>, "");
static_assert(is_const_v<const int> && !is_const_v<int>, "");
static_assert(is_reference_v<int&&> && !is_reference_v<int>, "");
static_assert(is_void_v<const void> && !is_void_v<int>, "");
static_assert(is_enum_v<Color> && is_class_v<Base> && is_empty_v<Base> && !is_empty_v<Derived>, "");
static_assert(is_base_of_v<Base, Derived> && !is_base_of_v<Derived, Base>, "");
static_assert(is_convertible_v<int, float> && !is_convertible_v<Base, int>, "");
static_assert(is_trivially_copyable_v<Derived> && is_standard_layout_v<Base>, "");
static_assert(conjunction_v<true_type, is_void<void>> && !conjunction_v<true_type, false_type>, "");
static_assert(disjunction_v<false_type, true_type> && negation_v<false_type>, "");
static_assert(is_same_v<make_index_sequence<5>, index_sequence<0, 1, 2, 3, 4>>, "");
static_assert(is_same_v<make_index_sequence<0>, index_sequence<>>, "");
static_assert(std::min(3, 2) == 2 && std::max(3, 2) == 3 && clamp(9, 0, 4) == 4, "");
static_assert(plus<int>()(2, 3) == 5 && greater<>()(2, 1) && !less<float>()(2, 1), "");
static_assert(array{1, 2, 3}.size() == 3 && array{1, 2, 3}[2] == 3, "");
static_assert(make_pair(1, 2.5f).second == 2.5f, "");
static_assert(INT32_MAX == INT_MAX && sizeof(uint64_t) == 8 && sizeof(intptr_t) == 8, "");
static_assert(offsetof(Derived, x) == 0 && sizeof(std::size_t) == 8, "");
static_assert(FLT_MAX == numeric_limits<float>::max() && DBL_EPSILON == 0x1p-52, "");
static_assert(INFINITY > FLT_MAX && NAN != NAN && M_PI > 3.14159265 && M_PI < 3.14159266, "");
constexpr int swapped() { int a = 1, b = 2; swap(a, b); return exchange(a, 7) * 10 + a; }
static_assert(swapped() == 27, "");
"""


def compile_text(text: str) -> None:
    compile_cubin(KernelSource(name="headers", text=text, entries=("k",)), "sm_80")


def includes(*names: str) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone(header: str) -> None:
    compile_text(includes(header) + KERNEL)


@pytest.mark.parametrize("is_ours_first", [True, False])
def test_all_headers_agree_with_those_of_cuda_in_either_order(is_ours_first: bool) -> None:
    names = (*HEADERS, *CUDA_HEADERS) if is_ours_first else (*CUDA_HEADERS, *HEADERS)
    compile_text(includes(*names) + KERNEL)


def test_traits_limits_and_small_tools_compute_what_the_standard_says() -> None:
    compile_text(includes(*HEADERS) + TRAITS + KERNEL)


def test_a_wrong_static_assertion_would_be_seen() -> None:
    with pytest.raises(KernelCompileError, match="static assertion failed"):
        compile_text(includes(*HEADERS) + "static_assert(std::is_same_v<int, long>);" + KERNEL)


@pytest.mark.parametrize(("name", "dtype"), INTEGERS.items())
def test_integer_limits_are_those_of_numpy(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    # the least value of a signed type has no literal of that type
    compile_text(f"""#include <limits>
using Limits = std::numeric_limits<{name}>;
static_assert(Limits::max() == {limits.max}{"u" if limits.min == 0 else ""}ll, "");
static_assert(Limits::min() == {limits.min + 1}ll - 1, "");
static_assert(Limits::lowest() == Limits::min() && Limits::is_integer, "");
static_assert(Limits::is_signed == {str(limits.min < 0).lower()}, "");
static_assert(Limits::digits == {limits.bits - (limits.min < 0)}, "");
{KERNEL}""")


@pytest.mark.parametrize(("name", "dtype"), FLOATS.items())
def test_float_limits_are_those_of_numpy(name: str, dtype: str) -> None:
    limits = np.finfo(dtype)
    suffix = "f" if name == "float" else ""
    compile_text(f"""#include <limits>
using Limits = std::numeric_limits<{name}>;
static_assert(Limits::max() == {float(limits.max).hex()}{suffix}, "");
static_assert(Limits::lowest() == {float(limits.min).hex()}{suffix}, "");
static_assert(Limits::min() == {float(limits.tiny).hex()}{suffix}, "");
static_assert(Limits::denorm_min() == {float(limits.smallest_subnormal).hex()}{suffix}, "");
static_assert(Limits::epsilon() == {float(limits.eps).hex()}{suffix}, "");
static_assert(Limits::digits == {limits.nmant + 1}, "");
static_assert(Limits::infinity() > Limits::max() && Limits::has_infinity, "");
static_assert(Limits::quiet_NaN() != Limits::quiet_NaN(), "");
{KERNEL}""")


def test_functions_of_the_c_library_are_in_std_and_work_on_devices() -> None:
    compile_text(
        includes("cmath", "cstdio", "cassert", "cstring", "cstdlib")
        + """
__global__ void use(float* x, int n) {
  assert(n > 0);
  float y = std::fmax(std::sqrt(x[0]), std::pow(x[1], 2.0f)) + std::exp(x[2]) + std::abs(x[3]);
  if (std::isnan(y) || std::isinf(y)) std::printf("%f\\n", y);
  std::memcpy(x + 4, &y, sizeof(float));
  x[5] = std::abs(n);
}
"""
        + KERNEL
    )
