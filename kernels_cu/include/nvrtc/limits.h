// Ranges of the integer types.
#pragma once
#include <cuda/std/climits>
