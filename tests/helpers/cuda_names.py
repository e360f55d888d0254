"""Names that popular CUDA kernels call, by the header that declares them."""

from __future__ import annotations

_MODES = ("rn", "rz", "rd", "ru")
_INTEGERS = ("short", "ushort", "int", "uint", "ll", "ull")
_RELATIONS = ("eq", "ne", "le", "ge", "lt", "gt")


def small_float_names(scalar: str) -> list[str]:
    """Return the intrinsics of `half` or `bfloat16`."""
    pair = f"{scalar}2"
    names = [f"__float2{scalar}", f"__double2{scalar}", f"__{scalar}2float", f"make_{pair}"]
    names += [f"__float2{scalar}_{mode}" for mode in _MODES]
    for integer in _INTEGERS:
        names += [f"__{integer}2{scalar}_{mode}" for mode in _MODES]
        names += [f"__{scalar}2{integer}_{mode}" for mode in _MODES]
    names += [f"__{scalar}2char_rz", f"__{scalar}2uchar_rz"]
    names += [f"__{scalar}_as_{bits}" for bits in ("short", "ushort")]
    names += [f"__{bits}_as_{scalar}" for bits in ("short", "ushort")]
    names += [
        f"__float2{pair}_rn",
        f"__floats2{pair}_rn",
        f"__float22{pair}_rn",
        f"__{pair}2float2",
    ]
    names += [f"__{scalar}2{pair}", f"__halves2{pair}", f"__lows2{pair}", f"__highs2{pair}"]
    names += [f"__{end}2{kind}" for end in ("low", "high") for kind in ("float", scalar, pair)]
    names += ["__lowhigh2highlow", "__hcmadd", "__h2div", "__hisnan2", "__hisinf", "__hisnan"]
    names += [f"__h{name}{two}" for name in ("abs", "neg") for two in ("", "2")]
    for name in ("add", "sub", "mul"):
        names += [f"__h{name}{form}" for form in ("", "_rn", "_sat", "2", "2_rn", "2_sat")]
    names += [f"__hfma{form}" for form in ("", "_sat", "_relu", "2", "2_sat", "2_relu")]
    names += [f"__h{name}{form}" for name in ("max", "min") for form in ("", "_nan", "2", "2_nan")]
    for relation in (*_RELATIONS, *(f"{relation}u" for relation in _RELATIONS)):
        names += [f"__h{relation}", f"__h{relation}2", f"__h{relation}2_mask", f"__hb{relation}2"]
    functions = "sqrt rsqrt rcp exp exp2 exp10 log log2 log10 sin cos tanh floor ceil trunc rint"
    names += [f"{prefix}{name}" for name in functions.split() for prefix in ("h", "h2")]
    return [*names, "__hdiv", "htanh_approx", "h2tanh_approx", "atomicAdd", "__ldg", "__shfl_sync"]


FP8 = (
    *(f"__nv_fp8{lanes}_{name}" for lanes in ("", "x2", "x4") for name in ("e4m3", "e5m2")),
    *("__nv_fp8_storage_t", "__nv_fp8x2_storage_t", "__nv_fp8x4_storage_t"),
    *("__nv_fp8_interpretation_t", "__nv_saturation_t", "__NV_E4M3", "__NV_E5M2"),
    *("__NV_SATFINITE", "__NV_NOSAT", "__nv_cvt_fp8_to_halfraw", "__nv_cvt_fp8x2_to_halfraw2"),
    *(f"__nv_cvt_{name}_to_fp8" for name in ("float", "double", "halfraw", "bfloat16raw")),
    *(f"__nv_cvt_{name}2_to_fp8x2" for name in ("float", "double", "halfraw", "bfloat16raw")),
)

_MATH = """
abs labs llabs fabs fabsf min max fminf fmaxf fmin fmax umin umax llmin llmax ullmin ullmax
exp expf exp2 exp2f exp10 exp10f expm1 expm1f log logf log2 log2f log10 log10f log1p log1pf logb
logbf ilogb ilogbf pow powf sqrt sqrtf rsqrt rsqrtf cbrt cbrtf rcbrt rcbrtf hypot hypotf rhypot
rhypotf norm3d norm3df norm4d norm4df rnorm3d rnorm3df rnorm4d rnorm4df sin sinf cos cosf tan tanf
sincos sincosf sinpi sinpif cospi cospif sincospi sincospif asin asinf acos acosf atan atanf atan2
atan2f sinh sinhf cosh coshf tanh tanhf asinh asinhf acosh acoshf atanh atanhf erf erff erfc erfcf
erfinv erfinvf erfcinv erfcinvf erfcx erfcxf normcdf normcdff normcdfinv normcdfinvf lgamma lgammaf
tgamma tgammaf j0 j0f j1 j1f jn jnf y0 y0f y1 y1f yn ynf floor floorf ceil ceilf trunc truncf round
roundf rint rintf nearbyint nearbyintf lrint lrintf llrint llrintf lround lroundf llround llroundf
fmod fmodf remainder remainderf remquo remquof modf modff frexp frexpf ldexp ldexpf scalbn scalbnf
scalbln scalblnf fma fmaf fdim fdimf copysign copysignf nextafter nextafterf nan nanf isnan isinf
norm normf rnorm rnormf cyl_bessel_i0 cyl_bessel_i0f cyl_bessel_i1 cyl_bessel_i1f
isfinite signbit fdividef memcpy memset malloc free clock printf
"""

_INTRINSICS = """
__expf __exp10f __logf __log2f __log10f __powf __sinf __cosf __tanf __sincosf __fdividef
__saturatef __frsqrt_rn __int2double_rn __uint2double_rn __float_as_int __float_as_uint
__int_as_float __uint_as_float __double_as_longlong __longlong_as_double __double2hiint
__double2loint __hiloint2double __clz __clzll __ffs __ffsll __popc __popcll __brev __brevll
__byte_perm __fns __funnelshift_l __funnelshift_lc __funnelshift_r __funnelshift_rc __mul24 __umul24
__mulhi __umulhi __mul64hi __umul64hi __sad __usad __hadd __rhadd __uhadd __urhadd __dp4a __dp2a_lo
__dp2a_hi __ldg __ldca __ldcg __ldcs __ldcv __ldlu __stwb __stcg __stcs __stwt __syncthreads
__syncthreads_count __syncthreads_and __syncthreads_or __syncwarp __activemask __any_sync __all_sync
__ballot_sync __match_any_sync __match_all_sync __shfl_sync __shfl_up_sync __shfl_down_sync
__shfl_xor_sync __reduce_add_sync __reduce_min_sync __reduce_max_sync __reduce_and_sync
__reduce_or_sync __reduce_xor_sync __threadfence __threadfence_block __threadfence_system
atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr
atomicXor atomicAdd_block atomicAdd_system __nanosleep clock64 __trap __prof_trigger
__isGlobal __isShared __isLocal __cvta_generic_to_global __cvta_generic_to_shared
__cvta_generic_to_local __cvta_generic_to_constant __cvta_global_to_generic
__cvta_shared_to_generic __cvta_local_to_generic __cvta_constant_to_generic
"""

_LANES = """
add sub addss addus subss subus maxs maxu mins minu avgs avgu haddu absdiffs absdiffu abs absss neg
negss sads sadu cmpeq cmpne cmpgts cmpgtu cmpges cmpgeu cmplts cmpltu cmples cmpleu seteq setne
setgts setgtu setges setgeu setlts setltu setles setleu
"""


def _in_modes(*stems: str) -> list[str]:
    return [f"{stem}_{mode}" for stem in stems for mode in _MODES]


def _fused(way: str) -> list[str]:
    plain = [f"__viadd{way}_{{}}", f"__vi{way}3_{{}}"]
    names = [name.format(kind) for name in plain for kind in ("s32", "u32", "s16x2", "u16x2")]
    names += [f"{name.format(kind)}_relu" for name in plain for kind in ("s32", "s16x2")]
    names += [f"__vi{way}_{kind}_relu" for kind in ("s32", "s16x2")]
    return [*names, *(f"__vib{way}_{kind}" for kind in ("s32", "u32", "s16x2", "u16x2"))]


BUILT_IN = (
    *_MATH.split(),
    *_INTRINSICS.split(),
    *_fused("max"),
    *_fused("min"),
    *(f"__v{name}{lanes}" for name in _LANES.split() for lanes in (2, 4)),
    *_in_modes("__fadd", "__fsub", "__fmul", "__fdiv", "__fmaf", "__frcp", "__fsqrt"),
    *_in_modes("__dadd", "__dsub", "__dmul", "__ddiv", "__fma", "__drcp", "__dsqrt"),
    *_in_modes("__double2float", "__int2float", "__uint2float", "__ll2float", "__ull2float"),
    *_in_modes("__ll2double", "__ull2double"),
    *_in_modes(*(f"__{r}2{i}" for r in ("float", "double") for i in ("int", "uint", "ll", "ull"))),
)
"""Names that need no header at all."""

HEADERS: dict[str, tuple[str, ...]] = {
    "cuda_fp16.h": (*small_float_names("half"), "__half_raw", "__half2_raw", "half", "half2"),
    "cuda_bf16.h": (*small_float_names("bfloat16"), "__nv_bfloat16_raw", "nv_bfloat16"),
    "cuda_fp8.h": FP8,
    "cuda_runtime.h": BUILT_IN,
    "cuComplex.h": (
        *("cuComplex", "cuFloatComplex", "cuDoubleComplex", "make_cuComplex", "cuCabs", "cuCabsf"),
        *(
            f"cuC{name}{f}"
            for name in ("real", "imag", "onj", "add", "sub", "mul", "div", "fma")
            for f in ("", "f")
        ),
        *("make_cuFloatComplex", "make_cuDoubleComplex"),
        *("cuComplexFloatToDouble", "cuComplexDoubleToFloat"),
    ),
    "driver_types.h": ("cudaError_t", "cudaSuccess", "cudaStream_t", "cudaEvent_t"),
    "cuda_pipeline.h": (
        *("__pipeline_memcpy_async", "__pipeline_commit", "__pipeline_wait_prior"),
    ),
}
