// Bits of numbers: unions, bit fields, memcpy as a cast, byte permutes, funnel shifts, carries,
// wide products, and a constexpr CRC table.
#include <stdint.h>
#include <string.h>

union Word {
    uint32_t bits;
    float number;
    struct {
        uint32_t mantissa : 23;
        uint32_t exponent : 8;
        uint32_t sign : 1;
    } parts;
    uint8_t bytes[4];
    uchar4 channels;
};

struct CrcTable {
    uint32_t entries[256];
    constexpr CrcTable() : entries() {
        for (uint32_t i = 0; i < 256; ++i) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit)
                value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
            entries[i] = value;
        }
    }
};
__constant__ constexpr CrcTable kCrc;

__device__ uint32_t crc32(const uint8_t* bytes, int count) {
    uint32_t crc = ~0u;
    while (count--) crc = kCrc.entries[(crc ^ *bytes++) & 0xff] ^ crc >> 8;
    return ~crc;
}

__device__ __forceinline__ uint32_t swap_bytes(uint32_t x) { return __byte_perm(x, 0, 0x0123); }

// n ones, the low ones first, for 0 <= n <= 32.
static __device__ uint32_t low_ones(int n) { return n == 0 ? 0 : 0xffffffffu >> (32 - n); }

extern "C" __global__ void bits(const float* in, uint32_t* out, unsigned long long* products,
                                int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Word word;
    word.number = in[i];
    uint32_t copied;
    memcpy(&copied, &in[i], sizeof copied);

    uint32_t* row = out + i * 12;
    row[0] = word.parts.exponent << 1 | word.parts.sign;
    row[1] = crc32(word.bytes, 4);
    row[2] = swap_bytes(copied);
    row[3] = __funnelshift_l(copied, ~copied, 9);
    row[4] = __funnelshift_r(copied, ~copied, 41);  // by 41 % 32
    row[5] = __brev(copied);
    row[6] = __clz(copied) | __ffs(copied) << 8 | __popc(copied) << 16;
    row[7] = __umulhi(copied, 0x9E3779B9u);
    row[8] = __usad(word.channels.x, word.channels.y, word.channels.z);
    row[9] = low_ones(i % 33);
    row[10] = __vadd4(copied, 0x01FF7F80u);
    row[11] = static_cast<uint32_t>(__mul24(static_cast<int>(copied), -3));

    const unsigned long long key = static_cast<unsigned long long>(copied) << 32 | ~copied;
    products[i * 3 + 0] = __umul64hi(key, 0x9E3779B97F4A7C15ull);
    products[i * 3 + 1] = __brevll(key);
    products[i * 3 + 2] =
        __popcll(key) | __clzll(key) << 8 | (unsigned long long)__ffsll(key) << 16;
}
