// One token for each row of logits: the likeliest, or one drawn from what min-p, top-k and top-p
// leave, by inverting the cumulative distribution in the order of ids.
//
// Threads share the rows; a row's arithmetic has a fixed order. No row is sorted: a least score is
// found by partitions of the few that may be it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "host_export.h"
#include "pool.h"
#include "vec_math.h"

namespace paged_host {
namespace {

// Ids whose weights are summed up together.
constexpr int64_t kSpan = 64;
static_assert(kSpan % (4 * kLanes) == 0, "spans are whole vectors, four at a time");

// What is known of the draws: logits in rows logits_stride apart, all else one for each row.
struct SampleArgs {
    const float* logits;
    int64_t logits_stride;
    int64_t vocab_size;
    const float* temperature;
    const float* least;   // score of min-p
    const int64_t* top_k;
    const double* top_p;
    const double* numbers;  // from [0, 1)
    const float* best;      // logit
};

PAGED_INLINE bool has_any(IntVec lanes) {
    int32_t any = 0;
    for (int i = 0; i < kLanes; ++i) any |= lanes[i];
    return any != 0;
}

// The first of the largest, or the first NaN.
int64_t find_best(const float* logits, int64_t num) {
    // maxima of several vectors, for each waits for the one before
    constexpr int kChains = 4;
    Vec largest[kChains];
    for (Vec& each : largest) each = broadcast(kMinusInfinity);
    IntVec is_bad{};
    const int64_t num_whole = num / kSpan * kSpan;
    for (int64_t i = 0; i < num_whole; i += kChains * kLanes) {
#pragma GCC unroll 4
        for (int chain = 0; chain < kChains; ++chain) {
            const auto value = load<Vec>(logits + i + chain * kLanes);
            largest[chain] = value > largest[chain] ? value : largest[chain];
            is_bad |= value != value;
        }
    }
    float most = kMinusInfinity;
    for (Vec each : largest) {
        for (int lane = 0; lane < kLanes; ++lane) most = std::max(most, each[lane]);
    }
    bool has_nan = has_any(is_bad);
    for (int64_t i = num_whole; i < num; ++i) {
        most = std::max(most, logits[i]);
        has_nan |= logits[i] != logits[i];
    }
    const float* last = logits + num;
    if (has_nan) return std::find_if(logits, last, [](float x) { return x != x; }) - logits;
    int64_t i = 0;
    for (; i < num_whole; i += kSpan) {
        IntVec is_best{};
        for (int64_t j = i; j < i + kSpan; j += kLanes) is_best |= load<Vec>(logits + j) == most;
        if (has_any(is_best)) break;
    }
    return std::find(logits + i, last, most) - logits;
}

struct Candidate {
    float score;
    float weight;
};

// The largest score such that candidates from it up weigh `wanted`; the least one where all do not.
float least_score(Candidate* begin, Candidate* end, double wanted) {
    double above = 0.0;
    float least = kMinusInfinity;
    while (begin != end) {
        const float low = begin->score, mid = begin[(end - begin) / 2].score, high = end[-1].score;
        const float pivot = std::max(std::min(low, mid), std::min(std::max(low, mid), high));
        Candidate* equal = std::partition(begin, end, [&](auto c) { return c.score > pivot; });
        Candidate* lower = std::partition(equal, end, [&](auto c) { return c.score == pivot; });
        double better = above;
        for (const Candidate* c = begin; c != equal; ++c) better += c->weight;
        double reached = better;
        for (const Candidate* c = equal; c != lower; ++c) reached += c->weight;
        if (better >= wanted) {
            end = equal;
        } else if (reached >= wanted) {
            return pivot;
        } else {
            above = reached;
            least = pivot;
            begin = lower;
        }
    }
    return least;
}

// One thread's memory, and what it does with a row. Rows are padded to whole spans with scores of
// minus infinity, which weigh nothing.
class Sampler {
public:
    explicit Sampler(const SampleArgs& args)
        : a_(args),
          num_(ceil_div(args.vocab_size, kSpan) * kSpan),
          scores_(static_cast<size_t>(num_), kMinusInfinity),
          weights_(static_cast<size_t>(num_)),
          sums_(static_cast<size_t>(num_ / kSpan)) {}

    int64_t draw(int64_t row) {
        const float* logits = a_.logits + row * a_.logits_stride;
        const float best = a_.best[row], temperature = a_.temperature[row];
        for (int64_t i = 0; i < a_.vocab_size; ++i) scores_[i] = (logits[i] - best) / temperature;
        float least = a_.least[row];
        if (a_.top_k[row] < a_.vocab_size) least = std::max(least, last_of(a_.top_k[row]));
        double total = weigh(least);
        if (a_.top_p[row] < 1.0) {
            least = std::max(least, least_in_nucleus(least, total, a_.top_p[row]));
            total = weigh(least);
        }
        return find(a_.numbers[row] * total);
    }

private:
    // The score of the last of the `count` best.
    float last_of(int64_t count) {
        float bound = kMinusInfinity;
        if (count <= static_cast<int64_t>(sums_.size())) {
            // at least so many are as good as the last of the `count` best of spans
            std::vector<float> best;
            for (int64_t i = 0; i < num_; i += kSpan) {
                best.push_back(*std::max_element(&scores_[i], &scores_[i] + kSpan));
            }
            std::nth_element(best.begin(), best.begin() + (count - 1), best.end(),
                             std::greater<float>());
            bound = best[static_cast<size_t>(count - 1)];
        }
        candidates_.clear();
        for (int64_t i = 0; i < a_.vocab_size; ++i) {
            if (scores_[i] >= bound) candidates_.push_back(Candidate{scores_[i], 1.0f});
        }
        return least_of_candidates(static_cast<double>(count));
    }

    float least_in_nucleus(float least, double total, double top_p) {
        // those lighter than this weigh less than what may be missed, all together
        const double share = (1.0 - top_p) / static_cast<double>(2 * num_);
        const auto light = static_cast<float>(share * total);
        candidates_.clear();
        for (int64_t i = 0; i < a_.vocab_size; ++i) {
            if (weights_[i] >= light && scores_[i] >= least) {
                candidates_.push_back(Candidate{scores_[i], weights_[i]});
            }
        }
        return least_of_candidates(top_p * total);
    }

    float least_of_candidates(double wanted) {
        return least_score(candidates_.data(), candidates_.data() + candidates_.size(), wanted);
    }

    // Sets the weights of scores from `least` up, 0 elsewhere, and the sums up to the end of each
    // span. Returns the last of these.
    double weigh(float least) {
        double total = 0.0;
        for (int64_t i = 0; i < num_; i += kSpan) {
            double sums[kLanes]{};
            for (int64_t j = i; j < i + kSpan; j += kLanes) {
                const auto score = load<Vec>(&scores_[j]);
                store(&weights_[j], score < least ? Vec{} : exp(score));
                for (int lane = 0; lane < kLanes; ++lane) sums[lane] += double{weights_[j + lane]};
            }
            for (double sum : sums) total += sum;
            sums_[i / kSpan] = total;
        }
        return total;
    }

    // The first id such that the weights up to it exceed target, which is less than their total.
    int64_t find(double target) const {
        const auto span = std::upper_bound(sums_.begin(), sums_.end(), target) - sums_.begin();
        double sum = span == 0 ? 0.0 : sums_[span - 1];
        int64_t last = span * kSpan;
        for (int64_t i = span * kSpan; i < (span + 1) * kSpan && sum <= target; ++i) {
            if (weights_[i] == 0.0f) continue;
            sum += double{weights_[i]};
            last = i;
        }
        return last;
    }

    const SampleArgs& a_;
    int64_t num_;
    std::vector<float> scores_, weights_;
    std::vector<double> sums_;
    std::vector<Candidate> candidates_;
};

}  // namespace
}  // namespace paged_host

// Sets tokens and the best logits [num_rows]; draws only where temperature is above 0 and the best
// logit is finite. logits [num_rows][vocab_size], rows logits_stride apart; all else [num_rows].
PAGED_EXPORT void paged_host_sample(const float* logits, int64_t logits_stride, int64_t num_rows,
                                    int64_t vocab_size, const float* temperature,
                                    const float* least, const int64_t* top_k, const double* top_p,
                                    const double* numbers, int32_t* tokens, float* best,
                                    int num_threads) {
    using namespace paged_host;
    const SampleArgs args{logits, logits_stride, vocab_size, temperature, least,
                          top_k,  top_p,         numbers,    best};
    const int64_t chunk = chunk_of(num_threads, num_rows, 1);
    parallel_for(num_threads, num_rows, chunk, [&](int64_t row, int64_t end) {
        std::optional<Sampler> sampler;
        for (; row < end; ++row) {
            const float* from = logits + row * logits_stride;
            int64_t token = find_best(from, vocab_size);
            best[row] = from[token];
            if (temperature[row] > 0.0f && std::isfinite(best[row])) {
                if (!sampler) sampler.emplace(args);
                token = sampler->draw(row);
            }
            tokens[row] = static_cast<int32_t>(token);
        }
    });
}
