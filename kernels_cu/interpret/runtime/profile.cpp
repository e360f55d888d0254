// Costs of requests, by the place of the instruction.
#include "profile.h"

#include <algorithm>
#include <set>

#include "block.h"
#include "launch.h"
#include "observation.h"
#include "requests.h"
#include "shared_memory.h"

namespace paged_interpret {

namespace {

constexpr uint64_t kBankBytes = 4;
constexpr uint64_t kNumBanks = 32;
constexpr uint64_t kWavefrontBytes = kBankBytes * kNumBanks;
constexpr uint32_t kMatrixRows = 8;

template <class Part>
uint64_t sectors_of(const std::vector<Part>& parts) {
    std::set<uint64_t> sectors;
    for (const Part& part : parts) {
        if (part.num_bytes == 0) continue;
        const uint64_t last = (part.address + part.num_bytes - 1) / kSectorBytes;
        for (uint64_t at = part.address / kSectorBytes; at <= last; ++at) sectors.insert(at);
    }
    return sectors.size();
}

// Wavefronts of lanes that are served together: as many as the busiest bank has words to give.
template <class Part>
std::pair<uint64_t, uint64_t> wavefronts_of(const Part* begin, const Part* end) {
    std::set<uint64_t> words;
    for (const Part* part = begin; part != end; ++part) {
        const uint64_t last = (part->address + part->num_bytes - 1) / kBankBytes;
        for (uint64_t at = part->address / kBankBytes; at <= last; ++at) words.insert(at);
    }
    uint64_t load[kNumBanks] = {};
    for (const uint64_t word : words) ++load[word % kNumBanks];
    const uint64_t least = (words.size() + kNumBanks - 1) / kNumBanks;
    return {*std::max_element(std::begin(load), std::end(load)), least};
}

// Lanes are served by as many as a wavefront has bytes for, if each asks for as many as the widest.
template <class Part>
void add_wavefronts(std::vector<Part>& parts, ProfileLine& line) {
    // Lanes that gave way come later than their turn.
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.lane < b.lane; });
    uint64_t widest = 1;
    for (const Part& part : parts) widest = std::max<uint64_t>(widest, part.num_bytes);
    const auto together = static_cast<size_t>(
        std::min<uint64_t>(kWarpSize, kWavefrontBytes / std::max(widest, kBankBytes)));
    for (size_t i = 0; i < parts.size(); i += together) {
        const Part* begin = parts.data() + i;
        const auto [all, least] =
            wavefronts_of(begin, begin + std::min(together, parts.size() - i));
        line.num_wavefronts += all;
        line.least_wavefronts += least;
    }
}

ProfileKind kind_of(const MemoryAccess& access, bool is_global) {
    if (access.is_read && access.is_write) {
        return is_global ? ProfileKind::global_atomic : ProfileKind::shared_atomic;
    }
    if (access.is_write) return is_global ? ProfileKind::global_write : ProfileKind::shared_write;
    return is_global ? ProfileKind::global_read : ProfileKind::shared_read;
}

}  // namespace

ProfileLine& Profiler::line_of(const void* place, Site site, ProfileKind kind) {
    ProfileLine& line = lines_[{place, site.file, site.line, kind}];
    line.place = reinterpret_cast<uint64_t>(place);
    line.file = site.file;
    line.line = static_cast<uint32_t>(site.line);
    line.kind = kind;
    return line;
}

void Profiler::see(const MemoryAccess& access, uint64_t site, bool is_global) {
    const auto* address = reinterpret_cast<const void*>(access.address);
    // Else it is on the lane's stack, which on a GPU is registers where it can be.
    if (!is_global && !SharedMemory(*current_block->launch().request).contains(address)) return;
    const auto window = windows_.find(current_lane);
    if (window != windows_.end()) {
        const unsigned lane = current_lane->lane_index;
        window->second.rows.push_back(
            Part{access.address, static_cast<uint32_t>(access.num_bytes), lane});
        return;
    }
    const LaneState& lane = current_block->self();
    const ProfileKind kind = kind_of(access, is_global);
    const uint64_t key = mix(site) ^ static_cast<uint64_t>(kind);
    auto [found, is_new] = warps_[lane.warp_index].try_emplace(key);
    Requests& requests = found->second;
    if (is_new) {
        requests.place = access.place;
        requests.kind = kind;
        std::fill(std::begin(requests.num_made), std::end(requests.num_made), 0u);
    }
    const uint32_t number = requests.num_made[lane.lane_index]++;
    if (number == requests.parts.size()) requests.parts.emplace_back();
    requests.parts[number].push_back(
        Part{access.address, static_cast<uint32_t>(access.num_bytes), lane.lane_index});
}

void Profiler::begin_collective(const void* place, Site site, unsigned lanes) {
    ProfileLine& line = line_of(place, site, ProfileKind::collective);
    ++line.num_requests;
    line.num_lanes += static_cast<unsigned>(__builtin_popcount(lanes));
    windows_[current_lane].line = &line;
}

// What a collective reads of shared memory are rows of matrices, eight of which are one access.
void Profiler::end_collective() {
    const auto window = windows_.find(current_lane);
    if (window == windows_.end()) return;
    const auto& [line, rows] = window->second;
    for (size_t i = 0; i < rows.size(); i += kMatrixRows) {
        const Part* begin = rows.data() + i;
        const auto [all, least] =
            wavefronts_of(begin, begin + std::min<size_t>(kMatrixRows, rows.size() - i));
        line->num_wavefronts += all;
        line->least_wavefronts += least;
    }
    for (const Part& row : rows) line->num_bytes += row.num_bytes;
    windows_.erase(window);
}

void Profiler::note_in_flight(uint64_t num_bytes) {
    const uint3& block = geometry.block_index;
    const dim3& grid = geometry.grid_size;
    const uint64_t index = block.x + uint64_t{grid.x} * (block.y + uint64_t{grid.y} * block.z);
    if (index != block_) end_block();
    block_ = index;
    const LaneState& lane = current_block->self();
    peak_bytes_.resize(kMaxBlockThreads);
    uint64_t& peak = peak_bytes_[lane.warp_index * kWarpSize + lane.lane_index];
    peak = std::max(peak, num_bytes);
}

void Profiler::end_block() {
    uint64_t total = 0;
    for (const uint64_t peak : peak_bytes_) total += peak;
    most_bytes_in_flight_ = std::max(most_bytes_in_flight_, total);
    peak_bytes_.clear();
}

void Profiler::settle(unsigned warp_index) {
    auto& sites = warps_[warp_index];
    for (auto& [_, requests] : sites) {
        ProfileLine& line = line_of(requests.place, Site{nullptr, 0}, requests.kind);
        for (std::vector<Part>& parts : requests.parts) {
            ++line.num_requests;
            line.num_lanes += parts.size();
            for (const Part& part : parts) line.num_bytes += part.num_bytes;
            if (requests.kind < ProfileKind::shared_read) {
                line.num_sectors += sectors_of(parts);
            } else {
                add_wavefronts(parts, line);
            }
        }
    }
    sites.clear();
}

void Profiler::settle_all() {
    for (unsigned warp = 0; warp < kMaxWarps; ++warp) settle(warp);
}

void Profiler::add_to(Profile& profile) {
    end_block();
    profile.most_bytes_in_flight = std::max(profile.most_bytes_in_flight, most_bytes_in_flight_);
    for (const auto& [_, line] : lines_) {
        if (profile.num_lines < profile.capacity) profile.lines[profile.num_lines] = line;
        ++profile.num_lines;
    }
}

}  // namespace paged_interpret
