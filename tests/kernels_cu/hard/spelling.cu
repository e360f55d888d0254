// Declarations as people spell them: qualifiers in every order, kernels in namespaces and with
// defaults, dynamic arrays of two axes, pragmas, macros that ask for the compiler, scoped printf.
#include <cstdio>
#include <cuda/std/limits>

#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800)
#error "needs a CUDA compiler and an Ampere device"
#endif
#pragma nv_diag_suppress 177

extern volatile __shared__ int words[];
namespace deep {
extern __shared__ float4 vectors[];
}

__device__ __constant__ float weights[2][2] = {{1, 2}, {3, 4}};
static __constant__ const int offsets[] = {10, 20};
const __device__ double half_turn = 3.25;

__global__ void declared_first(int* out);
__device__ int later(int);
__global__ void declared_first(int* out) { out[threadIdx.x] = later(threadIdx.x); }
__device__ int later(int x) { return x + offsets[1] + cuda::std::numeric_limits<short>::max(); }

enum Mode { kPlain, kScaled = 4 };

namespace outer {
inline namespace inner {
template <typename T, int N = 4, Mode M = kScaled, bool IS_NEGATIVE = false, T (*F)(T) = nullptr>
static __global__ void __launch_bounds__(64, 2) fill(T* const __restrict__ out) {
    out[threadIdx.x] = T(N + M) * (IS_NEGATIVE ? T(-1) : T(1));
}
}  // namespace inner

template <typename... Ts>
__launch_bounds__(32) __global__ void add_all(float* out, Ts... values) {
    *out = (0.0f + ... + static_cast<float>(values));
}
}  // namespace outer

template <>
__global__ void outer::fill<double, 2, kPlain, true, nullptr>(double* const __restrict__ out) {
    out[threadIdx.x] = half_turn;
}

__device__ __forceinline__ int rank(uint3 thread = threadIdx, dim3 extent = blockDim) {
    return thread.x + extent.x * thread.y;
}

extern "C" {
__global__ void __launch_bounds__(32) arrays(int* out) {
    extern __shared__ float rows[][8] __attribute__((aligned(16)));
    volatile extern __shared__ short halves[];
    static __shared__ int a[4];
    __shared__ static int b[4], c;
    __shared__ struct {
        int x;
        union {
            float f;
            unsigned bits;
        };
    } pair;
    const int n = blockDim.x * blockDim.y, i = rank();
    auto [bx, by, bz] = blockIdx;

    words[i] = 7;
    __syncthreads();
    const int first = halves[0] + static_cast<int>(words[n - 1]);
    __syncthreads();
    rows[threadIdx.y][threadIdx.x] = i;
    if (i == 0) pair.f = 1.0f, pair.x = 5, c = a[1] = b[2] = 1;
    __syncthreads();
    int sum = 0;
#pragma unroll 4
    for (int x = 0; x < 8; ++x) sum += rows[blockDim.y - 1][x];
    _Pragma("unroll") for (int x = 0; x < 4; ++x) __builtin_assume(sum >= 0);
    const float4 vector = deep::vectors[1];
    const float2 tail = *reinterpret_cast<const float2*>(&vector.z);
    out[i] = first + sum + pair.x + (pair.bits >> 23) + c + a[1] + b[2] + bx + by + bz;
    out[n + i] = tail.x + 100 * tail.y + 10000 * weights[1][i % 2] + i;
    if (i == 0) {
        ::printf("%s %5.2f|%-4d|%c %llu %%\n", "row", 1.5, 42, 'z', 1ull << 40);
        std::printf("%08X %e %g\n", 48879u, 12345.678, 1e-7);
    }
}
}
