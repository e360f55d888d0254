// Variables that outlive a launch and tables that precede it: device variables of many types,
// static variables inside functions, constexpr arrays, strings in constant memory, and device
// memory initialised with the address of other device memory.
#define STAGES(X) X(load) X(compute) X(store)

enum Stage {
#define NAME(stage) k_##stage,
    STAGES(NAME)
#undef NAME
    k_count
};

__constant__ const char* const stage_names[] = {
#define NAME(stage) #stage,
    STAGES(NAME)
#undef NAME
};

namespace state {
__device__ unsigned long long launches = 0;
__device__ float history[4] = {-1.0f, -2.0f, -3.0f};
__device__ struct {
    short low;
    double high;
} range = {32767, -1e300};
static __device__ bool is_started;
}  // namespace state

__device__ int storage[8];
__device__ int* cursor = storage + 2;

constexpr int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19};
constexpr int kNumPrimes = sizeof(kPrimes) / sizeof(kPrimes[0]);

__device__ constexpr int nth_prime(int n) { return kPrimes[n % kNumPrimes]; }
static_assert(nth_prime(9) == 3, "known to the compiler");

__device__ int visits() {
    static int count = 100;
    return atomicAdd(&count, 1);
}

__device__ int text_length(const char* text) {
    int length = 0;
    while (text[length] != '\0') ++length;
    return length;
}

extern "C" __global__ void remember(const float* value, double* out) {
    using namespace state;
    if (threadIdx.x == 0) {
        out[0] = is_started;
        is_started = true;
        out[1] = ++launches;
        for (int i = 3; i > 0; --i) history[i] = history[i - 1];
        history[0] = *value;
        range.low = min(range.low, short(*value));
        range.high = max(range.high, double(*value));
        *cursor++ = int(*value);
        for (int i = 0; i < 4; ++i) out[2 + i] = history[i];
        out[6] = range.low;
        out[7] = range.high;
        out[8] = cursor - storage;
        out[9] = storage[2] + 100 * storage[3];
        out[10] = text_length(stage_names[k_compute]);
        out[11] = stage_names[k_store][1];
    }
    __syncthreads();
    visits();
    __syncthreads();
    if (threadIdx.x == 0) out[12] = visits();
    if (threadIdx.x == 1) out[13] = nth_prime(threadIdx.x + blockDim.x) + k_count;
}
