// CUDA's intrinsics that need no header: what every device source may call.
#pragma once

#include "../numerics/cache_operators.h"
#include "../numerics/conversions.h"
#include "../numerics/directed.h"
#include "../numerics/dpx_intrinsics.h"
#include "../numerics/extrema.h"
#include "../numerics/integer_intrinsics.h"
#include "../numerics/simd_intrinsics.h"
#include "driver_types.h"
#include "math_functions.h"
#include "vector_functions.h"

#ifndef __clang__
#define __builtin_assume(condition) static_cast<void>(0)
#endif
#define __nv_assume(condition) static_cast<void>(0)
