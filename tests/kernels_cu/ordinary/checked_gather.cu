// out[i] = table[indices[i]] with an assertion on every index, and a line of text where asked.
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void checked_gather(const float* table, const int* indices, float* out,
                                          int table_size, int num_indices, bool is_verbose) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= num_indices) return;
    const int index = indices[i];
    assert(index >= 0 && index < table_size);
    out[i] = table[index];
    if (is_verbose) printf("out[%d] = table[%d] = %.3f (%s)\n", i, index, out[i], "ok");
}
