// The world of a CUDA source on the CPU: included before every kernel that is interpreted.
//
// A block's lanes are fibers of one OS thread, so shared memory is thread-local: __shared__ is
// `static __thread`. `extern __shared__` is rewritten before compilation (paged/kernel/backends/
// translation.py), since each such array names the same memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <type_traits>

#include "include/device_functions.h"
#include "include/assert.h"
#include "include/device_functions.h"
#include "include/math_functions.h"
#include "include/vector_functions.h"
#include "include/vector_types.h"

#include "atomics.h"
#include "collective.h"
#include "device.h"
#include "dynamic_shared.h"
#include "entry.h"
#include "scoped_atomics.h"
#include "warp.h"

#define __global__
#define __device__
#define __host__
#define __constant__ __attribute__((used))
#define __shared__ static __thread
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(num_bytes) __attribute__((aligned(num_bytes)))
#define __builtin_align__(num_bytes) __attribute__((aligned(num_bytes)))
// careful: also the spelling of an attribute in libstdc++, which therefore comes first above.
#define __noinline__ __attribute__((noinline))

// careful: a plain name, since `::printf` and `std::printf` have their own scope before it.
constexpr auto& paged_print = ::paged_interpret::print;
namespace std {
using ::paged_print;
}
#define printf(...) paged_print(__VA_ARGS__)

#ifdef __SANITIZE_THREAD__
#include "observed_copies.h"
using ::paged_interpret::observed_memcpy;
using ::paged_interpret::observed_memset;
namespace std {
using ::paged_interpret::observed_memcpy;
using ::paged_interpret::observed_memset;
}
#define memcpy(...) observed_memcpy(__VA_ARGS__)
#define memmove(...) observed_memcpy(__VA_ARGS__)
#define memset(...) observed_memset(__VA_ARGS__)
#endif

// As nvcc on a device; __CUDA_ARCH__ is chosen for each source.
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9

constexpr int warpSize = ::paged_interpret::kWarpSize;
