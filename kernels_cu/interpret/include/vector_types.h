// CUDA's vector types for the interpreter: char1 .. ulonglong4, float1 .. double4, dim3.
//
// Layout: members x, y, z, w in order. Vectors of two and four are aligned to their size, at most
// 16 bytes, as CUDA does for vectors that one load or store moves; vectors of one and three are
// aligned as their element.
#pragma once

#define PAGED_VECTOR_ALIGN(element, lanes) \
    alignas((lanes) * sizeof(element) < 16 ? (lanes) * sizeof(element) : 16)

#define PAGED_VECTOR_TYPES(name, element)                                                         \
    struct name##1 {                                                                              \
        element x;                                                                                \
    };                                                                                            \
    struct PAGED_VECTOR_ALIGN(element, 2) name##2 {                                               \
        element x, y;                                                                             \
    };                                                                                            \
    struct name##3 {                                                                              \
        element x, y, z;                                                                          \
    };                                                                                            \
    struct PAGED_VECTOR_ALIGN(element, 4) name##4 {                                               \
        element x, y, z, w;                                                                       \
    };                                                                                            \
    static_assert(sizeof(name##4) == 4 * sizeof(element), #name "4 must have no padding");

PAGED_VECTOR_TYPES(char, signed char)
PAGED_VECTOR_TYPES(uchar, unsigned char)
PAGED_VECTOR_TYPES(short, short)
PAGED_VECTOR_TYPES(ushort, unsigned short)
PAGED_VECTOR_TYPES(int, int)
PAGED_VECTOR_TYPES(uint, unsigned int)
PAGED_VECTOR_TYPES(long, long)
PAGED_VECTOR_TYPES(ulong, unsigned long)
PAGED_VECTOR_TYPES(longlong, long long)
PAGED_VECTOR_TYPES(ulonglong, unsigned long long)
PAGED_VECTOR_TYPES(float, float)
PAGED_VECTOR_TYPES(double, double)

#undef PAGED_VECTOR_TYPES
#undef PAGED_VECTOR_ALIGN

// An extent: what is not given is 1.
struct dim3 {
    unsigned int x, y, z;

    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 extent) : x(extent.x), y(extent.y), z(extent.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
