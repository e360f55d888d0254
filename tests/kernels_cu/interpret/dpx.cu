// Fused sums, maxima and minima, one row of results a function.
#define THREE(way, kind, a, b, c) \
    __viadd##way##_##kind(a, b, c), __vi##way##3_##kind(a, b, c)
#define RELU(way, kind, a, b, c) \
    __viadd##way##_##kind##_relu(a, b, c), __vi##way##3_##kind##_relu(a, b, c), \
        __vi##way##_##kind##_relu(a, b)

__global__ void fused(const int* a, const int* b, const int* c, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i], y = b[i], z = c[i];
    const unsigned u = x, v = y, w = z;
    const long long rows[] = {
        THREE(max, s32, x, y, z), THREE(min, s32, x, y, z),
        THREE(max, u32, u, v, w), THREE(min, u32, u, v, w),
        THREE(max, s16x2, u, v, w), THREE(min, s16x2, u, v, w),
        THREE(max, u16x2, u, v, w), THREE(min, u16x2, u, v, w),
        RELU(max, s32, x, y, z), RELU(min, s32, x, y, z),
        RELU(max, s16x2, u, v, w), RELU(min, s16x2, u, v, w),
    };
    for (int row = 0; row < 28; ++row) out[row * n + i] = static_cast<int>(rows[row]);
}

#define TOLD(function, x, y) \
    *cell = function(x, y, &high), cell += n, *cell = high, cell += n;
#define TOLD_HALVES(function, x, y) \
    *cell = function(x, y, &high, &low), cell += n, *cell = 2 * high + low, cell += n;

// Each result, then whether the first value was taken.
__global__ void told(const int* a, const int* b, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i], y = b[i];
    const unsigned u = x, v = y;
    int* cell = out + i;
    bool high, low;
    TOLD(__vibmax_s32, x, y)
    TOLD(__vibmin_s32, x, y)
    TOLD(__vibmax_u32, u, v)
    TOLD(__vibmin_u32, u, v)
    TOLD_HALVES(__vibmax_s16x2, u, v)
    TOLD_HALVES(__vibmin_s16x2, u, v)
    TOLD_HALVES(__vibmax_u16x2, u, v)
    TOLD_HALVES(__vibmin_u16x2, u, v)
}
