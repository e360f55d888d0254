// Ranges and precision of the floating-point types.
#pragma once
#include <cuda/std/cfloat>
