// Body of cuda_fp8.h, included once a format: the scalar, the pair and the quadruple type.
//
// Macros: PAGED_T, PAGED_T2, PAGED_T4 the types; PAGED_FORMAT the __nv_fp8_interpretation_t;
// PAGED_CODEC its codec. Construction saturates and rounds to nearest even.

struct PAGED_T {
    __nv_fp8_storage_t __x;

    PAGED_T() = default;
    explicit PAGED_T(double value) : __x(paged_interpret::encode_fp8<PAGED_CODEC>(value, true)) {}
    explicit PAGED_T(float value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(__half value) : PAGED_T(float(value)) {}
    explicit PAGED_T(__nv_bfloat16 value) : PAGED_T(float(value)) {}
    explicit PAGED_T(short value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(unsigned short value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(int value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(unsigned int value) : PAGED_T(static_cast<double>(value)) {}
    // The largest numbers are far below where a 64-bit integer loses bits in binary64.
    explicit PAGED_T(long value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(unsigned long value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(long long value) : PAGED_T(static_cast<double>(value)) {}
    explicit PAGED_T(unsigned long long value) : PAGED_T(static_cast<double>(value)) {}

    explicit operator float() const { return PAGED_CODEC::decode(__x); }
    explicit operator double() const { return PAGED_CODEC::decode(__x); }
    explicit operator __half() const { return __half(PAGED_CODEC::decode(__x)); }
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(PAGED_CODEC::decode(__x)); }
    explicit operator bool() const { return (__x & 0x7F) != 0; }
    explicit operator signed char() const { return truncated<signed char>(); }
    explicit operator unsigned char() const { return truncated<unsigned char>(); }
    explicit operator char() const { return truncated<char>(); }
    explicit operator short() const { return truncated<short>(); }
    explicit operator unsigned short() const { return truncated<unsigned short>(); }
    explicit operator int() const { return truncated<int>(); }
    explicit operator unsigned int() const { return truncated<unsigned int>(); }
    explicit operator long() const { return truncated<long>(); }
    explicit operator unsigned long() const { return truncated<unsigned long>(); }
    explicit operator long long() const { return truncated<long long>(); }
    explicit operator unsigned long long() const { return truncated<unsigned long long>(); }

   private:
    template <class Integer>
    Integer truncated() const {
        using paged_interpret::Rounding;
        return paged_interpret::to_integer<Integer>(float(*this), Rounding::kTowardZero);
    }
};

// The first number in the low byte.
struct PAGED_T2 {
    __nv_fp8x2_storage_t __x;

    PAGED_T2() = default;
    explicit PAGED_T2(double2 a)
        : __x(__nv_cvt_double2_to_fp8x2(a, __NV_SATFINITE, PAGED_FORMAT)) {}
    explicit PAGED_T2(float2 a) : __x(__nv_cvt_float2_to_fp8x2(a, __NV_SATFINITE, PAGED_FORMAT)) {}
    explicit PAGED_T2(__half2 a) : PAGED_T2(__half22float2(a)) {}
    explicit PAGED_T2(__nv_bfloat162 a) : PAGED_T2(__bfloat1622float2(a)) {}

    explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, PAGED_FORMAT); }
    explicit operator float2() const { return __half22float2(__half2(*this)); }
    explicit operator __nv_bfloat162() const { return __float22bfloat162_rn(float2(*this)); }
};

struct PAGED_T4 {
    __nv_fp8x4_storage_t __x;

    PAGED_T4() = default;
    explicit PAGED_T4(float4 a)
        : __x(paged_interpret::join_pairs(PAGED_T2(make_float2(a.x, a.y)).__x,
                                          PAGED_T2(make_float2(a.z, a.w)).__x)) {}
    explicit PAGED_T4(double4 a)
        : __x(paged_interpret::join_pairs(PAGED_T2(make_double2(a.x, a.y)).__x,
                                          PAGED_T2(make_double2(a.z, a.w)).__x)) {}
    explicit PAGED_T4(__half2 low, __half2 high)
        : __x(paged_interpret::join_pairs(PAGED_T2(low).__x, PAGED_T2(high).__x)) {}
    explicit PAGED_T4(__nv_bfloat162 low, __nv_bfloat162 high)
        : __x(paged_interpret::join_pairs(PAGED_T2(low).__x, PAGED_T2(high).__x)) {}

    explicit operator float4() const {
        const auto low = static_cast<__nv_fp8x2_storage_t>(__x & 0xFFFF);
        const auto high = static_cast<__nv_fp8x2_storage_t>(__x >> 16);
        const float2 xy = __half22float2(__nv_cvt_fp8x2_to_halfraw2(low, PAGED_FORMAT));
        const float2 zw = __half22float2(__nv_cvt_fp8x2_to_halfraw2(high, PAGED_FORMAT));
        return make_float4(xy.x, xy.y, zw.x, zw.y);
    }
};

#undef PAGED_T
#undef PAGED_T2
#undef PAGED_T4
#undef PAGED_FORMAT
#undef PAGED_CODEC
