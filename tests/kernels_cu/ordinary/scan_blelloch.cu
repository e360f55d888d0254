// Exclusive prefix sums of consecutive segments, work-efficient (Blelloch): up-sweep, down-sweep.
// One block scans one segment of 2 * blockDim.x elements and reports the segment's total.
// Dynamic shared memory: padded(2 * blockDim.x) elements.
#define NUM_BANKS_LOG2 5
#define PADDED(i) ((i) + ((i) >> NUM_BANKS_LOG2))

template <typename T>
__global__ void segment_scan(const T* in, T* out, T* totals, int n) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T* const tree = reinterpret_cast<T*>(shared_bytes);
    const int segment = 2 * blockDim.x;
    const int tid = threadIdx.x;
    const int base = blockIdx.x * segment;

    const int left = tid, right = tid + blockDim.x;
    tree[PADDED(left)] = base + left < n ? in[base + left] : T(0);
    tree[PADDED(right)] = base + right < n ? in[base + right] : T(0);

    int offset = 1;
    for (int active = segment >> 1; active > 0; active >>= 1) {
        __syncthreads();
        if (tid < active) {
            const int a = PADDED(offset * (2 * tid + 1) - 1);
            const int b = PADDED(offset * (2 * tid + 2) - 1);
            tree[b] += tree[a];
        }
        offset <<= 1;
    }
    if (tid == 0) {
        const int root = PADDED(segment - 1);
        totals[blockIdx.x] = tree[root];
        tree[root] = T(0);
    }
    for (int active = 1; active < segment; active <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (tid < active) {
            const int a = PADDED(offset * (2 * tid + 1) - 1);
            const int b = PADDED(offset * (2 * tid + 2) - 1);
            const T swapped = tree[a];
            tree[a] = tree[b];
            tree[b] += swapped;
        }
    }
    __syncthreads();
    if (base + left < n) out[base + left] = tree[PADDED(left)];
    if (base + right < n) out[base + right] = tree[PADDED(right)];
}
