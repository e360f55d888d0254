// Arithmetic on warp-wide matrix fragments; layouts as drawn in kernels_cu/include/portable.cuh.
//
// Written on vectors of eight floats in GCC's notation, which every x86-64 compiles, with the same
// bits: a product is rounded before it is added, never fused.
#pragma once

#include "bits.h"
#include "floats8.h"

namespace paged_interpret {

template <int count>
struct Registers {
    unsigned words[count];
};

inline unsigned pack_pair(unsigned short low, unsigned short high) {
    return static_cast<unsigned>(low) | static_cast<unsigned>(high) << 16;
}

// Hands the 8x8 matrix of the given rows to register `index` of every lane.
template <bool is_transposed, int count>
inline void load_matrix(const void* const* rows, Registers<count>(&out)[32], int index) {
    unsigned short elements[8][8];
    for (int row = 0; row < 8; ++row) __builtin_memcpy(elements[row], rows[row], 16);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned major = lane / 4, minor = 2 * (lane % 4);
        unsigned& word = out[lane].words[index];
        if constexpr (is_transposed) {
            word = pack_pair(elements[minor][major], elements[minor + 1][major]);
        } else {
            __builtin_memcpy(&word, &elements[major][minor], sizeof word);
        }
    }
}

inline void transpose_fragment(const unsigned (&in)[32], unsigned (&out)[32], unsigned) {
    const auto element = [&in](int row, int column) {
        return static_cast<unsigned short>(in[4 * row + column / 2] >> 16 * (column % 2));
    };
    for (int lane = 0; lane < 32; ++lane) {
        const int row = lane / 4, column = 2 * (lane % 4);
        out[lane] = pack_pair(element(column, row), element(column + 1, row));
    }
}

struct MmaInput {
    unsigned a[4];
    unsigned b[2];
    float c[4];
};

struct MmaOutput {
    float d[4];
};

// d = c + a * b for [16 x 16] times [16 x 8]: c first, then k in rising order.
template <class T>
inline void multiply_fragments(const MmaInput (&in)[32], MmaOutput (&out)[32], unsigned) {
    unsigned a[16][8];  // rows of pairs
    unsigned short b[16][8];
    float d[16][8];
    for (unsigned lane = 0; lane < 32; ++lane) {
        const MmaInput& own = in[lane];
        const unsigned row = lane / 4, pair = lane % 4, column = 2 * pair;
        a[row][pair] = own.a[0];
        a[row + 8][pair] = own.a[1];
        a[row][pair + 4] = own.a[2];
        a[row + 8][pair + 4] = own.a[3];
        for (unsigned part = 0; part < 2; ++part) {
            b[column + 8 * part][row] = static_cast<unsigned short>(own.b[part]);
            b[column + 8 * part + 1][row] = static_cast<unsigned short>(own.b[part] >> 16);
            __builtin_memcpy(&d[row + 8 * part][column], own.c + 2 * part, 8);
        }
    }
    Floats8 right[16];
    for (int k = 0; k < 16; ++k) right[k] = T::Codec::decode_eight(b[k]);
    for (int row = 0; row < 16; ++row) {
        float left[16];
        for (int half = 0; half < 16; half += 8) {
            const auto* codes = reinterpret_cast<const unsigned short*>(a[row]) + half;
            const Floats8 numbers = T::Codec::decode_eight(codes);
            __builtin_memcpy(left + half, &numbers, sizeof numbers);
        }
        Floats8 sum;
        __builtin_memcpy(&sum, d[row], sizeof sum);
#pragma GCC unroll 16
        for (int k = 0; k < 16; ++k) sum += left[k] * right[k];
        __builtin_memcpy(d[row], &sum, sizeof sum);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned row = lane / 4, column = 2 * (lane % 4);
        for (unsigned part = 0; part < 2; ++part) {
            __builtin_memcpy(out[lane].d + 2 * part, &d[row + 8 * part][column], 8);
        }
    }
}

}  // namespace paged_interpret
