// size_t and ptrdiff_t are built into NVRTC.
#pragma once

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
