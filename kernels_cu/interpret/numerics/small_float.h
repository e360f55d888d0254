// Everything of one 16-bit format; no include guard, for it is included once a format.
// The macros that describe the format are listed in small_float_type.h and gone afterwards.
#define PAGED_JOIN_TOKENS(a, b, c) a##b##c
#define PAGED_JOIN(a, b, c) PAGED_JOIN_TOKENS(a, b, c)

#include "small_float_type.h"
#include "small_float_convert.h"
#include "small_float_scalar.h"
#include "small_float_pair.h"
#include "small_float_functions.h"

#undef PAGED_JOIN
#undef PAGED_JOIN_TOKENS
#undef PAGED_T
#undef PAGED_T2
#undef PAGED_RAW
#undef PAGED_RAW2
#undef PAGED_OTHER
#undef PAGED_TAG
#undef PAGED_CODEC
