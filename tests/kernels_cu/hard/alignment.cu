// Shared memory whose alignment is asked for in every spelling that NVRTC takes, in plain kernels
// and in templates: each address is a multiple of what was asked, and holds what was written.
struct Odd {
    char bytes[3];
};

#define DYNAMIC(T, name) extern __shared__ T name[]
#define TILE(T, name, n) __shared__ alignas(16) T name[n]

template <typename T>
__device__ int remainder_of(const volatile T* address, int alignment) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(address) % alignment);
}

__device__ int* dynamic() {
    DYNAMIC(int, words);
    return words;
}

template <typename T, int N>
__device__ T* scratch() {
    __shared__ alignas(sizeof(T) * 4) T memory[N];
    return memory;
}

template <typename T>
struct Buffer {
    __device__ static unsigned char* get() {
        __shared__ alignas(T) unsigned char bytes[sizeof(T) * 32 + 1];
        return bytes;
    }
};

template <typename T, int N>
__global__ void alignment(int* remainders, T* out) {
    constexpr int kWidth = 2 * N;
    __shared__ char before;
    __shared__ alignas(16) T a[N][N + 1];
    alignas(32) __shared__ T b[N];
    __shared__ __align__(16) T c[N];
    __align__(64) __shared__ volatile T d[kWidth];
    __shared__ alignas(float4) volatile T e[N];
    __shared__ alignas(128)
        alignas(16) static Odd f[3], g;
    __shared__ alignas(16) struct {
        char tag;
        T value;
    } h;
    volatile __shared__ T i[N];
    TILE(T, j, N);
    __shared__ [[maybe_unused]] alignas(8) const T* k;
    __shared__ extern int first[];
    extern __align__(sizeof(float4)) __shared__ int second[], third[];
    extern __attribute__((aligned(16))) __shared__ unsigned char fourth[];

    const int t = threadIdx.x;
    before = static_cast<char>(t);
    a[t][t] = T(t);
    b[t] = c[t] = T(2 * t);
    d[t] = d[kWidth - 1 - t] = e[t] = i[t] = j[t] = T(3 * t);
    first[t] = 4 * t;
    scratch<T, N>()[t] = T(5 * t);
    reinterpret_cast<T*>(Buffer<T>::get())[t] = T(6 * t);
    if (t == 0) {
        f[2].bytes[2] = g.bytes[0] = 7;
        h.value = T(8);
        k = &b[0];
    }
    __syncthreads();
    const int other = N - 1 - t;
    T sum = a[other][other] + b[other] + c[other] + d[other] + e[other] + i[other] + j[other];
    sum += second[other] + third[other] + dynamic()[other] + reinterpret_cast<int*>(fourth)[other];
    sum += scratch<T, N>()[other] + reinterpret_cast<T*>(Buffer<T>::get())[other];
    sum += f[2].bytes[2] + g.bytes[0] + h.value + k[other];
    out[t] = sum;
    if (t != 0) return;
    const int found[] = {
        remainder_of(&a[0][0], 16), remainder_of(b, 32), remainder_of(c, 16), remainder_of(d, 64),
        remainder_of(e, 16), remainder_of(f[0].bytes, 128), remainder_of(g.bytes, 128),
        remainder_of(&h.tag, 16), remainder_of(j, 16), remainder_of(&k, 8),
        remainder_of(second, 16), remainder_of(fourth, 16),
        remainder_of(scratch<T, N>(), 4 * sizeof(T)), remainder_of(Buffer<T>::get(), sizeof(T)),
    };
    for (int at = 0; at < 14; ++at) remainders[at] = found[at];
}
