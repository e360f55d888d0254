// Every way to choose a function at run time: a table of function pointers in device memory, a
// pointer passed on, virtual functions of objects made on the device, pointers to members,
// recursion, and mutual recursion.
typedef float (*BinaryOp)(float, float);

__device__ __noinline__ float add(float a, float b) { return a + b; }
__device__ __noinline__ float subtract(float a, float b) { return a - b; }
__device__ __noinline__ float multiply(float a, float b) { return a * b; }

__device__ BinaryOp operations[] = {add, subtract, multiply};

__device__ __noinline__ float fold(BinaryOp op, const float* values, int count) {
    return count == 1 ? values[0] : op(fold(op, values, count - 1), values[count - 1]);
}

class Shape {
public:
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
};

class Rectangle : public Shape {
public:
    __device__ Rectangle(float w, float h) : w_(w), h_(h) {}
    __device__ float area() const override { return w_ * h_; }
    __device__ int corners() const override { return 4; }

protected:
    float w_, h_;
};

class Square final : public Rectangle {
public:
    __device__ explicit Square(float side) : Rectangle(side, side) {}
};

class Disc : public Shape {
public:
    __device__ explicit Disc(float r) : r_(r) {}
    __device__ float area() const override { return 3.0f * r_ * r_; }

private:
    float r_;
};

__device__ float describe(const Shape& shape) { return shape.area() + 1000.0f * shape.corners(); }

__device__ bool is_odd(unsigned n);
__device__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

__device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

struct Counter {
    int value;
    __device__ void up(int by) { value += by; }
    __device__ void down(int by) { value -= by; }
};

// One row of five results a thread.
extern "C" __global__ void dispatch(const float* values, int num_values, float* out, int num_rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= num_rows) return;
    float* const results = out + row * 5;

    results[0] = fold(operations[row % 3], values, num_values);

    const Rectangle rectangle(row, 2.0f);
    const Square square(row);
    const Disc disc(row);
    const Shape* shapes[3] = {&rectangle, &square, &disc};
    results[1] = describe(*shapes[row % 3]);

    results[2] = is_even(row);
    results[3] = ackermann(2, row % 4);

    Counter counter{row};
    void (Counter::*const step)(int) = row & 1 ? &Counter::up : &Counter::down;
    (counter.*step)(10);
    results[4] = counter.value;
}
