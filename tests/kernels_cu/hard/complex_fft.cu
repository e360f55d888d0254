// A radix-2 FFT of each row in shared memory over a user-defined complex type, twiddles from a
// constexpr table, in float or double; and Mandelbrot escape times with the same type.
template <typename T>
struct alignas(2 * sizeof(T)) Complex {
    T re = 0, im = 0;

    Complex() = default;
    __host__ __device__ constexpr Complex(T real, T imaginary = 0) : re(real), im(imaginary) {}

    __device__ friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
    __device__ friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
    __device__ friend Complex operator*(Complex a, Complex b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    __device__ Complex& operator*=(Complex other) { return *this = *this * other; }
    __device__ Complex operator-() const { return {-re, -im}; }
    __device__ explicit operator bool() const { return re != 0 || im != 0; }
    __device__ T norm() const { return re * re + im * im; }
};

// Unit literals: 2_i is the imaginary number.
__device__ constexpr Complex<double> operator""_i(unsigned long long value) {
    return {0.0, static_cast<double>(value)};
}

template <int N>
struct Twiddles {
    double cosine[N / 2];
    double sine[N / 2];

    constexpr Twiddles() : cosine(), sine() {
        for (int k = 0; k < N / 2; ++k) {
            const double angle = 2 * 3.14159265358979323846 * k / N;
            double c = 0, s = 0, term = 1;
            for (int power = 0; power < 40; ++power) {
                const int quarter = power % 4;
                (power % 2 ? s : c) += quarter < 2 ? term : -term;
                term *= angle / (power + 1);
            }
            cosine[k] = c;
            sine[k] = s;
        }
    }
};

template <int N>
__device__ constexpr Twiddles<N> kTwiddles{};

__device__ constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }

template <typename T, int N>
__global__ void __launch_bounds__(N / 2) fft(const Complex<T>* in, Complex<T>* out) {
    __shared__ Complex<T> row[N];
    constexpr int kBits = log2_of(N);
    static_assert(1 << kBits == N, "a power of two");
    for (int i = threadIdx.x; i < N; i += N / 2)
        row[__brev(i) >> (32 - kBits)] = in[blockIdx.x * N + i];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        const int k = threadIdx.x % half;
        const int low = threadIdx.x / half * 2 * half + k;
        const int turn = k * (N / 2 / half);
        const Complex<T> twiddle(T(kTwiddles<N>.cosine[turn]), T(-kTwiddles<N>.sine[turn]));
        const Complex<T> a = row[low], b = row[low + half] * twiddle;
        row[low] = a + b;
        row[low + half] = a - b;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += N / 2) out[blockIdx.x * N + i] = row[i];
}

__global__ void mandelbrot(unsigned short* iterations, int width, int height,
                           unsigned short limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const auto c = Complex<double>(-2.0 + 3.0 * x / width) + 1_i * (-1.0 + 2.0 * y / height);
    Complex<double> z;
    unsigned short count = 0;
    while (count < limit && z.norm() <= 4.0) {
        if (z) z *= z;
        z = z - -c;
        ++count;
    }
    iterations[y * width + x] = count;
}
