// Body of cuda_fp16.h and cuda_bf16.h: the scalar type, the pair type and their raw forms.
//
// Included once a format, with these macros defined by small_float.h's user:
//   PAGED_T, PAGED_T2       the type and its pair, such as __half and __half2
//   PAGED_RAW, PAGED_RAW2   structs of bare bits, such as __half_raw
//   PAGED_OTHER             the other 16-bit type, from which conversion is explicit
//   PAGED_TAG               the name inside intrinsics: half or bfloat16
//   PAGED_CODEC             encode and decode of paged_interpret

struct PAGED_OTHER;

struct alignas(2) PAGED_RAW {
    unsigned short x;
};

struct alignas(4) PAGED_RAW2 {
    unsigned short x, y;
};

struct alignas(2) PAGED_T {
    using Codec = paged_interpret::PAGED_CODEC;

    unsigned short bits;

    PAGED_T() = default;
    constexpr PAGED_T(const PAGED_RAW& raw) : bits(raw.x) {}
    PAGED_T(float value) : bits(paged_interpret::PAGED_CODEC::encode(value)) {}
    PAGED_T(double value) : bits(nearest(value)) {}
    PAGED_T(short value) : bits(nearest(static_cast<long long>(value))) {}
    PAGED_T(unsigned short value) : bits(nearest(static_cast<long long>(value))) {}
    PAGED_T(int value) : bits(nearest(static_cast<long long>(value))) {}
    PAGED_T(unsigned int value) : bits(nearest(static_cast<long long>(value))) {}
    PAGED_T(long value) : bits(nearest(static_cast<long long>(value))) {}
    PAGED_T(unsigned long value) : bits(nearest(static_cast<unsigned long long>(value))) {}
    PAGED_T(long long value) : bits(nearest(value)) {}
    PAGED_T(unsigned long long value) : bits(nearest(value)) {}
    explicit PAGED_T(const PAGED_OTHER& other);

    operator PAGED_RAW() const { return {bits}; }
    operator float() const { return paged_interpret::PAGED_CODEC::decode(bits); }
    operator bool() const { return (bits & 0x7FFF) != 0; }
    operator signed char() const { return truncated<signed char>(); }
    operator unsigned char() const { return truncated<unsigned char>(); }
    operator char() const { return truncated<char>(); }
    operator short() const { return truncated<short>(); }
    operator unsigned short() const { return truncated<unsigned short>(); }
    operator int() const { return truncated<int>(); }
    operator unsigned int() const { return truncated<unsigned int>(); }
    operator long() const { return truncated<long>(); }
    operator unsigned long() const { return truncated<unsigned long>(); }
    operator long long() const { return truncated<long long>(); }
    operator unsigned long long() const { return truncated<unsigned long long>(); }

   private:
    template <class Number>
    static unsigned short nearest(Number value) {
        using paged_interpret::Rounding;
        return paged_interpret::PAGED_CODEC::encode_exact(value, Rounding::kNearestEven);
    }

    template <class Integer>
    Integer truncated() const {
        using paged_interpret::Rounding;
        return paged_interpret::to_integer<Integer>(float(*this), Rounding::kTowardZero);
    }
};

struct alignas(4) PAGED_T2 {
    PAGED_T x, y;

    PAGED_T2() = default;
    constexpr PAGED_T2(const PAGED_T& x, const PAGED_T& y) : x(x), y(y) {}
    constexpr PAGED_T2(const PAGED_RAW2& raw) : x(PAGED_RAW{raw.x}), y(PAGED_RAW{raw.y}) {}

    operator PAGED_RAW2() const { return {x.bits, y.bits}; }
};

static_assert(sizeof(PAGED_T) == 2 && sizeof(PAGED_T2) == 4, "16-bit types must pack");
