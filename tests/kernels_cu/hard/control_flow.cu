// Control flow few compilers like: Duff's device, goto out of nested loops, fall-through, a state
// machine, early returns before barriers of others, barriers in loops with a uniform bound.
__device__ __noinline__ int duff_sum(const int* values, int count) {
    int sum = 0;
    if (count <= 0) return 0;
    int rounds = (count + 3) / 4;
    switch (count % 4) {
        case 0: do { sum += *values++; [[fallthrough]];
        case 3:      sum += *values++; [[fallthrough]];
        case 2:      sum += *values++; [[fallthrough]];
        case 1:      sum += *values++;
                } while (--rounds > 0);
    }
    return sum;
}

// Position of the first pair (i < j) that adds up to `target`, packed; -1 where there is none.
__device__ int find_pair(const int* values, int count, int target) {
    int i, j;
    for (i = 0; i < count; ++i)
        for (j = i + 1; j < count; ++j)
            if (values[i] + values[j] == target) goto found;
    return -1;
found:
    return i * 256 + j;
}

enum class State : unsigned char { kStart, kSign, kDigits, kDone, kError };

// An optionally signed decimal number, up to a blank or the end; `ok` says whether it was one.
__device__ int parse(const signed char* text, int length, bool* ok) {
    State state = State::kStart;
    int sign = 1, value = 0;
    for (int i = 0; i < length && state != State::kDone; ++i) {
        const char c = text[i];
        switch (state) {
            case State::kStart:
                if (c == ' ') break;
                if (c == '-') sign = -1;
                if (c == '-' || c == '+') {
                    state = State::kSign;
                    break;
                }
                [[fallthrough]];
            case State::kSign:
            case State::kDigits:
                if (c == ' ' && state == State::kDigits)
                    state = State::kDone;
                else if (c < '0' || c > '9')
                    state = State::kError;
                else {
                    state = State::kDigits;
                    value = value * 10 + (c - '0');
                }
                break;
            default: break;
        }
        if (state == State::kError) break;
    }
    *ok = state == State::kDigits || state == State::kDone;
    return sign * value;
}

extern "C" __global__ void parse_fields(const signed char* text, int width, int* numbers,
                                        bool* valid, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    numbers[i] = parse(text + i * width, width, &valid[i]);
}

extern "C" __global__ void searches(const int* values, int count, int* sums, int* pairs) {
    sums[threadIdx.x] = duff_sum(values, threadIdx.x);
    pairs[threadIdx.x] = find_pair(values, count, threadIdx.x);
}

// Odd-even transposition sort of one row a block: as many barriers as columns, and one more each
// round whose outcome every thread must learn.
extern "C" __global__ void odd_even_sort(int* rows, int num_columns, int* num_rounds) {
    extern __shared__ int row[];
    __shared__ int is_sorted;
    for (int i = threadIdx.x; i < num_columns; i += blockDim.x)
        row[i] = rows[blockIdx.x * num_columns + i];
    int round = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0) is_sorted = true;
        __syncthreads();
        for (int parity = 0; parity < 2; ++parity) {
            for (int i = 2 * threadIdx.x + parity; i + 1 < num_columns; i += 2 * blockDim.x) {
                if (row[i] <= row[i + 1]) continue;
                const int held = row[i];
                row[i] = row[i + 1];
                row[i + 1] = held;
                is_sorted = false;
            }
            __syncthreads();
        }
        ++round;
    } while (!is_sorted);
    for (int i = threadIdx.x; i < num_columns; i += blockDim.x)
        rows[blockIdx.x * num_columns + i] = row[i];
    if (threadIdx.x == 0) num_rounds[blockIdx.x] = round;
}
