// One warp through the portability header: fragments by lane and register, products, copies.
#include "portable.cuh"

// out[32][4 + 4 + 2 + 2]: registers of x4, x4_trans, x2, x2_trans for 32 rows of 8 elements.
extern "C" __global__ void load_fragments(const unsigned short* in, unsigned* out) {
    __shared__ __align__(16) unsigned short tile[32][8];
    for (int column = 0; column < 8; ++column) {
        tile[threadIdx.x][column] = in[8 * threadIdx.x + column];
    }
    __syncthreads();
    unsigned plain[4], trans[4], two[2], two_trans[2];
    paged::ldmatrix_x4(plain, tile[threadIdx.x]);
    paged::ldmatrix_x4_trans(trans, tile[threadIdx.x]);
    paged::ldmatrix_x2(two, tile[threadIdx.x % 16]);
    paged::ldmatrix_x2_trans(two_trans, tile[threadIdx.x % 16]);
    unsigned* mine = out + 12 * threadIdx.x;
    for (int i = 0; i < 4; ++i) mine[i] = plain[i], mine[4 + i] = trans[i];
    for (int i = 0; i < 2; ++i) mine[8 + i] = two[i], mine[10 + i] = two_trans[i];
}

extern "C" __global__ void transpose_fragments(const unsigned* in, unsigned* out) {
    out[threadIdx.x] = paged::movmatrix_trans(in[threadIdx.x]);
}

// One product a warp, row-major everywhere: d[16][8] = c[16][8] + a[16][16] * b[16][8].
template <class T>
__global__ void multiply(const T* a, const T* b, const float* c, float* d) {
    __shared__ __align__(16) T left[16][16];
    __shared__ __align__(16) T right[16][8];
    const int lane = threadIdx.x, warp = blockIdx.x;
    for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[256 * warp + i];
    for (int i = lane; i < 128; i += 32) right[i / 8][i % 8] = b[128 * warp + i];
    __syncthreads();
    unsigned fragment_a[4], fragment_b[2];
    paged::ldmatrix_x4(fragment_a, &left[lane % 16][8 * (lane / 16)]);
    paged::ldmatrix_x2_trans(fragment_b, right[lane % 16]);
    const int row = lane / 4, column = 2 * (lane % 4);
    const int places[] = {8 * row + column, 8 * row + column + 1, 8 * (row + 8) + column,
                          8 * (row + 8) + column + 1};
    float sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = c[128 * warp + places[i]];
    paged::mma_m16n8k16<T>(sum, fragment_a, fragment_b);
    for (int i = 0; i < 4; ++i) d[128 * warp + places[i]] = sum[i];
}

// Two groups in flight; the last word of each thread's 16 bytes is zeroed in the second.
extern "C" __global__ void copy_in_groups(const int4* in, int4* out) {
    __shared__ int4 tile[2][32];
    const int lane = threadIdx.x;
    paged::cp_async<16>(&tile[0][lane], in + lane);
    paged::cp_async_commit();
    paged::cp_async<8>(&tile[1][lane], in + 32 + lane);
    paged::cp_async<4>(&tile[1][lane].z, &in[32 + lane].z);
    paged::cp_async<4>(&tile[1][lane].w, &in[32 + lane].w, 0);
    paged::cp_async_commit();
    paged::cp_async_wait<1>();
    __syncwarp();
    out[lane] = tile[0][lane ^ 1];
    out[32 + lane] = tile[1][lane];  // not yet waited for
    paged::cp_async_wait<0>();
    __syncwarp();
    out[64 + lane] = tile[1][lane ^ 1];
}

extern "C" __global__ void reduce(const float* in, float* out) {
    const float value = in[threadIdx.x];
    const float rows[] = {paged::warp_sum(value), paged::warp_sum<8>(value),
                          paged::warp_max(value), paged::warp_max<4>(value)};
    for (int row = 0; row < 4; ++row) out[32 * row + threadIdx.x] = rows[row];
}

// The butterfly that warp_sum promises, by shuffles.
extern "C" __global__ void reduce_by_shuffles(const float* in, float* out) {
    float value = in[threadIdx.x];
    for (int distance = 1; distance < 32; distance *= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    }
    out[threadIdx.x] = value;
}

extern "C" __global__ void convert(const unsigned short* in, __half2* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = paged::e4m3x2_to_half2(in[i]);
}

extern "C" __global__ void vectors(const float* in, float* out) {
    auto four = paged::load_vector<4>(in + 4 * threadIdx.x);
    for (int i = 0; i < 4; ++i) four[i] = paged::exp2_approx(four[i]);
    paged::store_vector(out + 4 * threadIdx.x, four);
}

extern "C" __global__ void misaligned(const float* in, float* out, int what) {
    __shared__ __align__(16) float tile[64];
    unsigned registers[4];
    if (what == 0) out[0] = paged::load_vector<2>(in + 1)[0];
    if (what == 1) paged::cp_async<16>(tile, in + 1);
    if (what == 2) paged::cp_async<8>(tile + 1, in);
    if (what == 3) paged::ldmatrix_x4(registers, tile + threadIdx.x % 2);
    if (what == 4) paged::cp_async<4>(tile, in, 5);
    if (what == 5) paged::cp_async<4>(tile, in);
}
