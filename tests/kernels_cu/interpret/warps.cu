// Shuffles, votes, matches and reductions: each kernel writes what every lane got.

extern "C" __global__ void shuffles(const int* value, int* out, int width, int n) {
    const int lane = threadIdx.x;
    out[lane] = __shfl_sync(0xffffffff, value[lane], n, width);
    out[32 + lane] = __shfl_up_sync(0xffffffff, value[lane], n, width);
    out[64 + lane] = __shfl_down_sync(0xffffffff, value[lane], n, width);
    out[96 + lane] = __shfl_xor_sync(0xffffffff, value[lane], n, width);
}

struct Pair {
    double first;
    short second;
};

template <class T>
__device__ T rotate(T value) {
    return __shfl_sync(0xffffffff, value, threadIdx.x + 1);
}

extern "C" __global__ void shuffled_types(double* out) {
    const int lane = threadIdx.x;
    out[lane] = rotate(lane * 0.5);
    out[32 + lane] = rotate(static_cast<float>(lane));
    out[64 + lane] = rotate(static_cast<unsigned char>(lane));
    out[96 + lane] = rotate(-1LL - lane);
    out[128 + lane] = rotate(1ull << (lane + 16));
    const Pair got = rotate(Pair{lane * 2.0, static_cast<short>(-lane)});
    out[160 + lane] = got.first + got.second;
}

// Only lanes of the mask take part, in four groups that go their own ways.
extern "C" __global__ void partial_masks(int* out) {
    const int lane = threadIdx.x;
    const unsigned mask = 0x11111111u << (lane % 4);
    int value = lane;
    for (int i = 0; i <= lane % 4; ++i) {
        for (int offset = 16; offset >= 4; offset /= 2) {
            value += __shfl_xor_sync(mask, value, offset);
        }
    }
    out[lane] = value;
}

extern "C" __global__ void votes(const int* value, unsigned* out) {
    const int lane = threadIdx.x;
    const unsigned mask = lane < 20 ? 0x000fffffu : 0xfff00000u;
    out[lane] = __ballot_sync(mask, value[lane] > 5);
    out[32 + lane] = __any_sync(mask, value[lane] == 25);
    out[64 + lane] = __all_sync(mask, value[lane] < 20);
    out[96 + lane] = __match_any_sync(mask, value[lane] % 3);
    int is_same = 7;
    out[128 + lane] = __match_all_sync(mask, lane < 20 ? 1 : lane, &is_same);
    out[160 + lane] = is_same;
}

extern "C" __global__ void reductions(const int* value, int* out) {
    const int lane = threadIdx.x;
    const int mine = value[lane];
    out[lane] = __reduce_add_sync(0xffffffff, mine);
    out[32 + lane] = __reduce_min_sync(0xffffffff, mine);
    out[64 + lane] = __reduce_max_sync(0xffffffff, mine);
    out[96 + lane] = __reduce_and_sync(0xffffffff, mine | 8);
    out[128 + lane] = __reduce_or_sync(0xffffffff, mine);
    out[160 + lane] = __reduce_xor_sync(0xffffffff, mine);
    out[192 + lane] = __reduce_max_sync(0xffffffff, static_cast<unsigned>(mine));
}

// The lanes of one branch find each other.
extern "C" __global__ void active(unsigned* out) {
    const int lane = threadIdx.x;
    if (lane % 3 == 0) {
        out[lane] = __activemask();
    } else {
        out[lane] = __activemask();
    }
}

// A block that is no multiple of a warp: lanes that do not exist are not waited for.
extern "C" __global__ void short_warp(int* out) {
    const int thread = threadIdx.x;
    int value = 1;
    __syncwarp();
    for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_down_sync(0xffffffff, value, offset);
        if ((thread % 32) + offset < 8) value += other;
    }
    out[thread] = value;
    out[40 + thread] = __all_sync(0xffffffff, 1) && !__any_sync(0xffffffff, 0);
    int is_same = 0;
    out[80 + thread] = __match_all_sync(0xffffffff, 3, &is_same);
}

// Early returns before a warp barrier: those that have ended are not waited for.
extern "C" __global__ void syncwarp_after_return(int* out) {
    __shared__ int shared[32];
    if (threadIdx.x % 2 == 1) return;
    shared[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = shared[(threadIdx.x + 2) % 32];
}
