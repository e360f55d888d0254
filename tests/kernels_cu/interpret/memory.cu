// Kernels that show where operands lie and what they hold.
#include <cstdio>

extern "C" __global__ void keep_even(float* out, int n) {
    const int i = threadIdx.x;
    if (i < n && i % 2 == 0) out[i] = i;
}

extern "C" __global__ void say(int n) { printf("%d\n", n); }

extern "C" __global__ void fill_rows(float* out, int stride, int num_columns) {
    for (int i = 0; i < num_columns; ++i) out[threadIdx.x * stride + i] = threadIdx.x;
}

extern "C" __global__ void copy_rows(const float* source, float* target, int stride,
                                     int num_columns) {
    for (int i = 0; i < num_columns; ++i) {
        target[threadIdx.x * stride + i] = source[threadIdx.x * stride + i];
    }
}

extern "C" __global__ void address(const float* source, long long* out) {
    if (threadIdx.x == 0) *out = reinterpret_cast<long long>(source);
}

extern "C" __global__ void move_far(float* pool, int far) {
    pool[far] = pool[17];
    pool[17] += 1;
    pool[2ll * far - 1] = pool[2ll * far - 5];
}

extern "C" __global__ void read_far(const float* pool, float* out, int far) {
    out[0] = pool[17];
    out[1] = pool[far];
    out[2] = pool[2ll * far - 1];
}

extern "C" __global__ void ends(const float* source, float* out, int n) {
    out[0] = source[0];
    out[1] = source[n / 2];
    out[2] = source[n - 1];
}
