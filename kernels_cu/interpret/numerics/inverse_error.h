// The inverses of the error functions, and the scaled complementary one, in binary64.
#pragma once

namespace paged_interpret {

// exp(x^2) erfc(x): directly while both factors are numbers, then by its asymptotic series.
inline double scaled_erfc(double x) {
    constexpr double kSeriesFrom = 25.0;  // the fourth term is below 1e-11 of the first there
    if (x < kSeriesFrom) return __builtin_exp(x * x) * __builtin_erfc(x);
    constexpr double kRootPi = 1.77245385090551602730;
    const double t = 1.0 / (2.0 * x * x);
    return (1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))) / (x * kRootPi);
}

// The x >= 0 with erfc(x) = y, for y in (0, 1], by Newton's method on log(erfc(x)), which is
// nearly a parabola: five steps from sqrt(-log(y)) reach the last bits.
inline double inverse_erfc_of_tail(double y) {
    constexpr double kTwoOverRootPi = 1.12837916709551257390;
    constexpr int kMaxSteps = 40;
    double x = __builtin_sqrt(-__builtin_log(y));
    for (int step = 0; step < kMaxSteps; ++step) {
        const double value = __builtin_erfc(x);
        const double slope = kTwoOverRootPi * __builtin_exp(-x * x);
        const double change = value / slope * __builtin_log(value / y);
        x += change;
        if (!(__builtin_fabs(change) > 1e-16 * x)) break;
    }
    return x;
}

inline double inverse_erfc(double y) {
    if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
    if (y == 0.0) return __builtin_inf();
    if (y == 2.0) return -__builtin_inf();
    return y <= 1.0 ? inverse_erfc_of_tail(y) : -inverse_erfc_of_tail(2.0 - y);
}

// Around zero erf is the more exact of the two, so Newton's method runs on it there.
inline double inverse_erf(double y) {
    constexpr double kTwoOverRootPi = 1.12837916709551257390;
    constexpr double kNearZero = 0.5;
    constexpr int kNumSteps = 8;
    if (!(__builtin_fabs(y) < kNearZero)) {
        return y < 0.0 ? -inverse_erfc(1.0 + y) : inverse_erfc(1.0 - y);
    }
    double x = y / kTwoOverRootPi;
    for (int step = 0; step < kNumSteps; ++step) {
        x -= (__builtin_erf(x) - y) / (kTwoOverRootPi * __builtin_exp(-x * x));
    }
    return x;
}

}  // namespace paged_interpret
