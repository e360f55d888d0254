// Putting the requests of a warp together.
#include "requests.h"

#include <algorithm>

namespace paged_interpret {

namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr uint64_t kWindowSectors = 32;
constexpr uint64_t kWindowBytes = kSectorBytes * kWindowSectors;

// Sectors from one byte to the one before another, in the window of the first.
uint32_t sector_mask(uint64_t begin, uint64_t end) {
    const uint64_t first = begin / kSectorBytes % kWindowSectors;
    const uint64_t last = (end - 1) / kSectorBytes % kWindowSectors;
    return static_cast<uint32_t>((uint64_t{2} << last) - (uint64_t{1} << first));
}

}  // namespace

void WarpRequests::add(const LaneAccess& access) {
    Request& request = request_of(access);
    uint64_t begin = access.address;
    const uint64_t end = begin + access.num_bytes;
    while (begin < end) {
        const uint64_t window = begin / kWindowBytes;
        const uint64_t stop = std::min(end, (window + 1) * kWindowBytes);
        touch(request.sectors, Sectors{window, access.operand, sector_mask(begin, stop), kNone});
        begin = stop;
    }
}

WarpRequests::Request& WarpRequests::request_of(const LaneAccess& access) {
    if ((out_of_step_ >> access.lane & 1) == 0) {
        const uint32_t number = num_in_step_[access.lane];
        if (number == requests_.size()) append(access);
        if (requests_[number].site == access.site) {
            ++num_in_step_[access.lane];
            return requests_[number];
        }
        out_of_step_ |= 1u << access.lane;
    }
    return request_out_of_step(access);
}

WarpRequests::Request& WarpRequests::request_out_of_step(const LaneAccess& access) {
    index_sites();
    Site& site = sites_[access.site];
    const unsigned bit = 1u << access.lane;
    uint32_t& num_past = site.num_past[access.lane];
    if ((site.known & bit) == 0) {
        const auto& all = site.requests;
        const auto left = std::lower_bound(all.begin(), all.end(), num_in_step_[access.lane]);
        num_past = static_cast<uint32_t>(left - all.begin());
        site.known |= bit;
    }
    if (num_past == site.requests.size()) append(access);
    return requests_[site.requests[num_past++]];
}

uint32_t WarpRequests::append(const LaneAccess& access) {
    const auto number = static_cast<uint32_t>(requests_.size());
    const Sectors none{0, 0, 0, kNone};
    requests_.push_back(Request{access.site, none, access.is_read, access.is_write});
    if (is_indexed_) sites_[access.site].requests.push_back(number);
    return number;
}

void WarpRequests::index_sites() {
    if (is_indexed_) return;
    is_indexed_ = true;
    for (uint32_t number = 0; number < requests_.size(); ++number) {
        sites_[requests_[number].site].requests.push_back(number);
    }
}

void WarpRequests::touch(Sectors& first, const Sectors& touched) {
    for (Sectors* sectors = &first;; sectors = &more_[sectors->next]) {
        const bool is_free = sectors->mask == 0;
        if (is_free || (sectors->window == touched.window && sectors->operand == touched.operand)) {
            sectors->window = touched.window;
            sectors->operand = touched.operand;
            sectors->mask |= touched.mask;
            return;
        }
        if (sectors->next == kNone) break;
    }
    more_.push_back(touched);
    more_.back().next = first.next;
    first.next = static_cast<uint32_t>(more_.size() - 1);
}

void WarpRequests::settle(Counts* counts) {
    for (const Request& request : requests_) {
        for (const Sectors* sectors = &request.sectors;; sectors = &more_[sectors->next]) {
            const auto num_sectors = static_cast<unsigned>(__builtin_popcount(sectors->mask));
            Counts& operand = counts[sectors->operand];
            if (request.is_read) operand.read_sector_bytes += kSectorBytes * num_sectors;
            if (request.is_write) operand.write_sector_bytes += kSectorBytes * num_sectors;
            if (sectors->next == kNone) break;
        }
    }
    requests_.clear();
    more_.clear();
    if (is_indexed_) sites_.clear();
    settle_lanes();
}

void WarpRequests::settle_lanes() {
    std::fill(std::begin(num_in_step_), std::end(num_in_step_), 0u);
    out_of_step_ = 0;
    is_indexed_ = false;
}

}  // namespace paged_interpret
