// Atomics with an order and a scope, atomics of vectors, and the spaces that addresses lie in.

__device__ int in_global[2];

// Bit 0: global, 1: shared, 2: local, 3: the address survives its way through its own space.
template <class T>
__device__ int spaces_of(const T* address) {
    const int space = (__isGlobal(address) ? 1 : 0) + (__isShared(address) ? 2 : 0) +
                      (__isLocal(address) ? 4 : 0);
    const void* back = address;
    if (space == 1) back = __cvta_global_to_generic(__cvta_generic_to_global(address));
    if (space == 2) back = __cvta_shared_to_generic(__cvta_generic_to_shared(address));
    if (space == 4) back = __cvta_local_to_generic(__cvta_generic_to_local(address));
    return space + (back == address ? 8 : 0);
}

extern "C" __global__ void spaces(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[33];
    int own[4] = {static_cast<int>(threadIdx.x), 1, 2, 3};
    __syncthreads();
    int* row = out + 6 * threadIdx.x;
    row[0] = spaces_of(out);
    row[1] = spaces_of(&in_global[1]);
    row[2] = spaces_of(&fixed[32]);
    row[3] = spaces_of(&dynamic[blockDim.x - 1]);
    row[4] = spaces_of(&own[threadIdx.x % 4]);
    row[5] = spaces_of(static_cast<int*>(nullptr));
}

extern "C" __global__ void vectors(float2* twos, float4* fours) {
    const float one = 1.0f;
    atomicAdd(twos, make_float2(one, 0.5f));
    const float4 before = atomicAdd(&fours[0], make_float4(one, 2.0f, 0.25f, 4.0f));
    if (before.x == 0.0f) fours[1] = make_float4(before.x, before.y, before.z, before.w);
}

// The order must be a literal.
#define RELAXED __NV_ATOMIC_RELAXED

template <class T, class Word>
__global__ void scoped(T* cells, T* lock) {
    const T one = 1, i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_atomic_fetch_add(reinterpret_cast<Word*>(&cells[0]), Word{1}, RELAXED,
                          __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_sub(reinterpret_cast<Word*>(&cells[1]), Word{1}, __NV_ATOMIC_ACQ_REL);
    __nv_atomic_fetch_max(&cells[2], i, RELAXED);
    __nv_atomic_fetch_min(&cells[3], -i, RELAXED);
    __nv_atomic_fetch_or(&cells[4], one << (i % 20), RELAXED);
    __nv_atomic_fetch_and(&cells[5], ~(one << (i % 16)), RELAXED);
    __nv_atomic_fetch_xor(&cells[6], i, RELAXED);
    // A lock, waited for with loads alone.
    T seen = 0, next = 1;
    while (true) {
        while (__nv_atomic_load_n(lock, __NV_ATOMIC_ACQUIRE) != 0) {
        }
        seen = 0;
        if (__nv_atomic_compare_exchange_n(lock, &seen, one, false, __NV_ATOMIC_ACQUIRE, RELAXED)) {
            break;
        }
    }
    T value;
    __nv_atomic_load(&cells[7], &value, RELAXED);
    ++value;
    __nv_atomic_store(&cells[7], &value, RELAXED);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_store_n(lock, T(0), __NV_ATOMIC_RELEASE);
    if (i != 0) return;
    __nv_atomic_exchange(&cells[8], &next, &seen, RELAXED);
    cells[9] = seen + 10 * __nv_atomic_exchange_n(&cells[8], T(5), RELAXED);
    T wrong = 4, right = 6;
    const bool failed =
        !__nv_atomic_compare_exchange(&cells[8], &wrong, &right, true, RELAXED, RELAXED);
    cells[10] = failed + 10 * wrong;
}
