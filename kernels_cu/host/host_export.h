// A function that Python calls; all else in the library is hidden.
#pragma once

#define PAGED_EXPORT extern "C" __attribute__((visibility("default")))
