// Putting the requests of a warp together.
#include "requests.h"

#include <algorithm>

namespace paged_interpret {

namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr uint64_t kWindowSectors = 32;
constexpr uint64_t kWindowBytes = kSectorBytes * kWindowSectors;

}  // namespace

WarpRequests::Site& WarpRequests::find(uint64_t key) {
    if (last_ < sites_.size()) {
        const uint32_t expected = sites_[last_].successor;
        if (expected < sites_.size() && sites_[expected].key == key) {
            last_ = expected;
            return sites_[expected];
        }
    }
    const auto number = static_cast<uint32_t>(sites_.size());
    const auto [place, is_new] = index_.try_emplace(key, number);
    if (is_new) sites_.push_back(Site{key, kNone, false, false, {}, {}});
    sites_[last_].successor = place->second;
    last_ = place->second;
    return sites_[last_];
}

void WarpRequests::add(const LaneAccess& access) {
    Site& site = find(access.site);
    if (site.requests.empty()) open_.push_back(last_);
    site.is_read = access.is_read;
    site.is_write = access.is_write;
    const uint32_t number = site.num_executions[access.lane]++;
    if (number == site.requests.size()) site.requests.push_back(kNone);
    uint64_t begin = access.address;
    const uint64_t end = begin + access.num_bytes;
    while (begin < end) {
        const uint64_t window = begin / kWindowBytes;
        const uint64_t stop = std::min(end, (window + 1) * kWindowBytes);
        const uint64_t first = begin / kSectorBytes % kWindowSectors;
        const uint64_t last = (stop - 1) / kSectorBytes % kWindowSectors;
        const uint64_t mask = (uint64_t{2} << last) - (uint64_t{1} << first);
        touch(site.requests[number], window, access.operand, static_cast<uint32_t>(mask));
        begin = stop;
    }
}

void WarpRequests::touch(uint32_t& first, uint64_t window, uint32_t operand, uint32_t mask) {
    for (uint32_t i = first; i != kNone; i = sectors_[i].next) {
        Sectors& sectors = sectors_[i];
        if (sectors.window != window || sectors.operand != operand) continue;
        sectors.mask |= mask;
        return;
    }
    sectors_.push_back(Sectors{window, operand, mask, first});
    first = static_cast<uint32_t>(sectors_.size() - 1);
}

void WarpRequests::settle(Counts* counts) {
    for (const uint32_t number : open_) {
        Site& site = sites_[number];
        for (const uint32_t first : site.requests) {
            for (uint32_t i = first; i != kNone; i = sectors_[i].next) {
                const auto num_sectors = static_cast<unsigned>(__builtin_popcount(sectors_[i].mask));
                Counts& operand = counts[sectors_[i].operand];
                if (site.is_read) operand.read_sector_bytes += kSectorBytes * num_sectors;
                if (site.is_write) operand.write_sector_bytes += kSectorBytes * num_sectors;
            }
        }
        site.requests.clear();
        std::fill(std::begin(site.num_executions), std::end(site.num_executions), 0u);
    }
    open_.clear();
    sectors_.clear();
}

}  // namespace paged_interpret
