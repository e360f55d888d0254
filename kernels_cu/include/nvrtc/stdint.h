// Integers of fixed width.
#pragma once
#include <cuda/std/cstdint>
