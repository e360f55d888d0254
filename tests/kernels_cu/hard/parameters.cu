// Parameters of every width and alignment, by value: packed small integers, bool, double, structs
// with arrays, nested structs with pointers inside, and a struct of one byte.
struct Affine {
    double matrix[2][2];
    float offset[2];
    short shift;
};

struct View {
    const int* data;
    struct Extent {
        unsigned short rows, columns;
    } extent;
    signed char pad_value;

    __device__ int at(int row, int column) const {
        if (row < 0 || column < 0 || row >= extent.rows || column >= extent.columns)
            return pad_value;
        return data[row * extent.columns + column];
    }
};

struct Tag {
    unsigned char value;
};

// careful: byte, then 2, 8, 1, 4, 16-byte aligned parameters: the offsets have holes.
extern "C" __global__ void pack(char a, short b, long long c, bool d, int e, double4 f, Tag g,
                                float h, unsigned char i, unsigned long long j, double* out) {
    out[0] = a;
    out[1] = b;
    out[2] = static_cast<double>(c);
    out[3] = d;
    out[4] = e;
    out[5] = f.x + 2 * f.y + 3 * f.z + 4 * f.w;
    out[6] = g.value;
    out[7] = h;
    out[8] = i;
    out[9] = static_cast<double>(j);
}

extern "C" __global__ void map_points(const double2* points, double2* out, int n,
                                      const __grid_constant__ Affine affine) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    const double2 p = points[i];
    out[i].x = affine.matrix[0][0] * p.x + affine.matrix[0][1] * p.y + affine.offset[0];
    out[i].y = affine.matrix[1][0] * p.x + affine.matrix[1][1] * p.y + affine.offset[1];
    out[i].x += affine.shift;
}

// Sums of 3 x 3 neighbourhoods with padding.
extern "C" __global__ void box_sum(View view, int* out) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= view.extent.rows || column >= view.extent.columns) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) sum += view.at(row + dy, column + dx);
    out[row * view.extent.columns + column] = sum;
}
