// What the linker gives kernels for the functions that would end the process they run in.
#include "report.h"

#define PAGED_EXIT(name, parameters, call, ...)                                                   \
    extern "C" [[noreturn]] void __wrap_##name parameters {                                       \
        paged_interpret::fail_format(                                                             \
            paged_interpret::Site{nullptr, 0},                                                    \
            "the kernel called " call "; return from it instead, or call __trap()", ##__VA_ARGS__);\
    }

#pragma GCC visibility push(default)
PAGED_EXIT(exit, (int status), "exit(%d)", status)
PAGED_EXIT(_exit, (int status), "_exit(%d)", status)
PAGED_EXIT(_Exit, (int status), "_Exit(%d)", status)
PAGED_EXIT(quick_exit, (int status), "quick_exit(%d)", status)
PAGED_EXIT(abort, (), "abort()")
#pragma GCC visibility pop

#undef PAGED_EXIT
