// size_t and ptrdiff_t are built into NVRTC.
#pragma once

#ifndef offsetof
// no __builtin_offsetof either, and a plain cast of the address is no constant
#define offsetof(type, member) __INTADDR__(&(static_cast<type*>(nullptr)->member))
#endif
