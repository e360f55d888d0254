// Dropout with Philox4x32-10 (Salmon et al. 2011): the mask is a function of seed and position
// only, so the backward pass draws it again. Four elements a thread.
#include <stdint.h>

namespace philox {

constexpr uint32_t kMultiplierA = 0xD2511F53u, kMultiplierB = 0xCD9E8D57u;
constexpr uint32_t kWeylA = 0x9E3779B9u, kWeylB = 0xBB67AE85u;

__device__ __forceinline__ uint4 round(uint4 counter, uint2 key) {
    const uint32_t high_a = __umulhi(kMultiplierA, counter.x);
    const uint32_t low_a = kMultiplierA * counter.x;
    const uint32_t high_b = __umulhi(kMultiplierB, counter.z);
    const uint32_t low_b = kMultiplierB * counter.z;
    return make_uint4(high_b ^ counter.y ^ key.x, low_b, high_a ^ counter.w ^ key.y, low_a);
}

template <int ROUNDS = 10>
__device__ uint4 generate(uint4 counter, uint2 key) {
#pragma unroll
    for (int i = 0; i < ROUNDS; ++i) {
        counter = round(counter, key);
        key.x += kWeylA;
        key.y += kWeylB;
    }
    return counter;
}

}  // namespace philox

extern "C" __global__ void dropout(const float* __restrict__ in, float* __restrict__ out,
                                   uint8_t* __restrict__ mask, int num_elements,
                                   float keep_probability, uint64_t seed, uint64_t offset) {
    const int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (group * 4 >= num_elements) return;
    const uint2 key = make_uint2(uint32_t(seed), uint32_t(seed >> 32));
    const uint64_t position = offset + group;
    const uint4 random =
        philox::generate(make_uint4(uint32_t(position), uint32_t(position >> 32), 0, 0), key);
    const uint32_t words[4] = {random.x, random.y, random.z, random.w};
    const float scale = 1.0f / keep_probability;
    for (int j = 0; j < 4; ++j) {
        const int i = group * 4 + j;
        if (i >= num_elements) break;
        const float uniform = __uint2float_rz(words[j] >> 8) * 0x1p-24f;
        const bool keep = uniform < keep_probability;
        out[i] = keep ? in[i] * scale : 0.0f;
        mask[i] = keep;
    }
}
