// assert for the interpreter: a failed one ends the launch with its text. No include guard: as in
// C, each inclusion obeys the NDEBUG of its place.
#include "../device.h"

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                         \
    ((condition) ? (void)0                                                        \
                 : ::paged_interpret::fail_assertion(#condition, __func__,        \
                                                     ::paged_interpret::Site::here()))
#endif
