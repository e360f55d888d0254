// Layout of the vector types as the compiler sees it, and their constructors.
#include <cstdint>

template <class V, class E, int lanes, int alignment>
__device__ int describe(V (*make)(E, E, E, E)) {
    static_assert(sizeof(V) == lanes * sizeof(E), "vectors have no padding");
    static_assert(alignof(V) == alignment, "one access moves what is aligned so");
    const V v = make(1, 2, 3, 4);
    E elements[lanes];
    memcpy(elements, &v, sizeof v);
    int all = 0;
    for (int lane = 0; lane < lanes; ++lane) all = 10 * all + static_cast<int>(elements[lane]);
    return all;
}

#define MAKERS(name, element)                                                                    \
    __device__ name##1 first_##name(element x, element, element, element) {                      \
        return make_##name##1(x);                                                                \
    }                                                                                            \
    __device__ name##2 two_##name(element x, element y, element, element) {                      \
        return make_##name##2(x, y);                                                             \
    }                                                                                            \
    __device__ name##3 three_##name(element x, element y, element z, element) {                  \
        return make_##name##3(x, y, z);                                                          \
    }

#define TYPES(row) \
    row(char, signed char, 1) row(uchar, unsigned char, 1) row(short, short, 2) \
    row(ushort, unsigned short, 2) row(int, int, 4) row(uint, unsigned int, 4) \
    row(long, long, 8) row(ulong, unsigned long, 8) row(longlong, long long, 8) \
    row(ulonglong, unsigned long long, 8) row(float, float, 4) row(double, double, 8)

#define ROW(name, element, bytes) MAKERS(name, element)
TYPES(ROW)
#undef ROW

__device__ constexpr int at_most_16(int bytes) {
    return bytes < 16 ? bytes : 16;
}

// Per type: the elements of a vector of one, two, three and four, as digits.
extern "C" __global__ void layouts(int* out) {
    int row = 0;
#define ROW(name, element, bytes)                                                                \
    out[row++] = describe<name##1, element, 1, bytes>(first_##name);                             \
    out[row++] = describe<name##2, element, 2, at_most_16(2 * bytes)>(two_##name);               \
    out[row++] = describe<name##3, element, 3, bytes>(three_##name);                             \
    out[row++] = describe<name##4, element, 4, at_most_16(4 * bytes)>(make_##name##4);
    TYPES(ROW)
#undef ROW
}

extern "C" __global__ void extents(unsigned* out) {
    const dim3 all(2, 3, 4), two(5, 6), none, from(make_uint3(7, 8, 9));
    const uint3 to = all;
    const unsigned values[] = {all.x, all.y, all.z, two.z, none.x, none.y, from.z, to.y};
    for (int i = 0; i < 8; ++i) out[i] = values[i];
}
