// Eight floats in GCC's notation: one register where the processor has AVX, several elsewhere, and
// the same bits.
#pragma once

namespace paged_interpret {

typedef float Floats8 __attribute__((vector_size(32)));

}  // namespace paged_interpret
