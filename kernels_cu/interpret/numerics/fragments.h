// Arithmetic on warp-wide matrix fragments; layouts as drawn in kernels_cu/include/portable.cuh.
//
// Written on vectors of eight floats in GCC's notation, which every x86-64 compiles, with the same
// bits: a product is rounded before it is added, never fused.
#pragma once

#include "bits.h"

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
    for (int lane = 0; lane < 32; ++lane) {
        const int major = lane / 4, minor = 2 * (lane % 4);
        const auto* row = elements[major];
        out[lane].words[index] =
            is_transposed ? pack_pair(elements[minor][major], elements[minor + 1][major])
                          : pack_pair(row[minor], row[minor + 1]);
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

typedef float Row8 __attribute__((vector_size(32)));

template <class T>
inline float low_value(unsigned pair) {
    return bit_cast<T>(static_cast<unsigned short>(pair));
}

template <class T>
inline float high_value(unsigned pair) {
    return bit_cast<T>(static_cast<unsigned short>(pair >> 16));
}

// d = c + a * b for [16 x 16] times [16 x 8]: c first, then k in rising order.
template <class T>
inline void multiply_fragments(const MmaInput (&in)[32], MmaOutput (&out)[32], unsigned) {
    float a[16][16];
    Row8 b[16], d[16];
    for (int lane = 0; lane < 32; ++lane) {
        const int row = lane / 4, column = 2 * (lane % 4);
        for (int part = 0; part < 4; ++part) {
            float* pair = &a[row + 8 * (part % 2)][column + 8 * (part / 2)];
            pair[0] = low_value<T>(in[lane].a[part]);
            pair[1] = high_value<T>(in[lane].a[part]);
        }
        for (int part = 0; part < 2; ++part) {
            b[column + 8 * part][row] = low_value<T>(in[lane].b[part]);
            b[column + 8 * part + 1][row] = high_value<T>(in[lane].b[part]);
            d[row + 8 * part][column] = in[lane].c[2 * part];
            d[row + 8 * part][column + 1] = in[lane].c[2 * part + 1];
        }
    }
    for (int row = 0; row < 16; ++row) {
        Row8 sum = d[row];
        for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k];
        d[row] = sum;
    }
    for (int lane = 0; lane < 32; ++lane) {
        const int row = lane / 4, column = 2 * (lane % 4);
        out[lane] = {{d[row][column], d[row][column + 1], d[row + 8][column],
                      d[row + 8][column + 1]}};
    }
}

}  // namespace paged_interpret
