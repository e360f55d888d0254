// assert is built into NVRTC; NDEBUG is honoured as usual.
#pragma once
