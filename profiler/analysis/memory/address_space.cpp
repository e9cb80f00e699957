#include "profiler/analysis/memory/address_space.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// FORMAT.md: addresses below it stand for sums, not for places.
constexpr std::uint64_t kFirstPlace = 16;

/// Segments by address, of which none overlap.
class Reserved {
public:
    void add(Segment segment) {
        if (segment.size.count <= 0 || segment.end() < segment.address) return;
        remove(segment);
        if (segment.grows) joinNeighbours(segment);
        m_byAddress[segment.address] = segment;
    }
    void remove(const Segment& gone) {
        if (gone.size.count <= 0 || gone.end() < gone.address) return;
        auto at = m_byAddress.upper_bound(gone.address);
        if (at != m_byAddress.begin() && std::prev(at)->second.end() > gone.address) --at;
        while (at != m_byAddress.end() && at->second.address < gone.end()) {
            const Segment hit = at->second;
            at = m_byAddress.erase(at);
            keep(hit, hit.address, gone.address);
            keep(hit, gone.end(), hit.end());
        }
    }
    [[nodiscard]] std::vector<Segment> list() const {
        std::vector<Segment> segments;
        for (const auto& [address, segment] : m_byAddress) segments.push_back(segment);
        return segments;
    }

private:
    void keep(Segment part, std::uint64_t begin, std::uint64_t end) {
        if (begin >= end) return;
        part.address = begin;
        part.size = {static_cast<std::int64_t>(end - begin)};
        m_byAddress[begin] = part;
    }
    void joinNeighbours(Segment& segment) {
        const auto after = m_byAddress.find(segment.end());
        if (after != m_byAddress.end() && after->second.grows) {
            segment.size += after->second.size;
            m_byAddress.erase(after);
        }
        auto before = m_byAddress.lower_bound(segment.address);
        if (before == m_byAddress.begin()) return;
        --before;
        if (!before->second.grows || before->second.end() != segment.address) return;
        segment.address = before->second.address;
        segment.size += before->second.size;
        m_byAddress.erase(before);
    }

    std::map<std::uint64_t, Segment> m_byAddress;
};

std::uint64_t endOf(const MemoryEvent& block) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, block.size.count));
    const std::uint64_t end = block.address + size;
    return end < block.address ? ~std::uint64_t{0} : end;
}

std::uint64_t roundedUp(std::uint64_t address, Bytes rounding) {
    const auto step = static_cast<std::uint64_t>(std::max<std::int64_t>(1, rounding.count));
    const std::uint64_t over = address % step;
    return over == 0 || address > ~std::uint64_t{0} - step ? address : address + step - over;
}

std::vector<std::size_t> placesByAddress(const std::vector<MemoryEvent>& blocks) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (hasPlace(blocks[i])) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const MemoryEvent &x = blocks[a], &y = blocks[b];
        return x.address != y.address ? x.address < y.address : a < b;
    });
    return order;
}

/// Adds a block to a stretch that ends at `limit` and whose blocks cover it up to `covered`.
void addBlock(const MemoryEvent& block, std::size_t place, std::uint64_t limit,
              AddressStretch& stretch, std::uint64_t& covered) {
    const std::uint64_t begin = std::max(block.address, covered);
    const std::uint64_t end = std::max(covered, std::min(endOf(block), limit));
    if (end > begin) stretch.allocated.count += static_cast<std::int64_t>(end - begin);
    covered = end;
    stretch.blocks.push_back(place);
}

class Builder {
public:
    Builder(const std::vector<MemoryEvent>& blocks, const BlockReaches* reaches)
        : m_blocks(blocks), m_reaches(reaches), m_order(placesByAddress(blocks)) {}

    /// What lies before `end` and in no segment.
    void runsUpTo(std::uint64_t end) {
        for (; m_next < m_order.size() && block().address < end; ++m_next) {
            const std::uint64_t address = block().address;
            const bool joins = m_run && address - std::min(address, m_covered) <= kRunGap;
            if (!joins) {
                closeRun();
                m_run = AddressStretch{address, address, false, {}, {}, {}};
                m_covered = address;
            }
            addBlock(block(), m_order[m_next], end, *m_run, m_covered);
            m_run->end = m_covered;
        }
        closeRun();
    }
    void segment(const Segment& segment) {
        AddressStretch stretch{segment.address, segment.end(), true, {}, {}, {}};
        std::uint64_t covered = segment.address, reached = segment.address;
        for (; m_next < m_order.size() && block().address < segment.end(); ++m_next) {
            freeBetween(reached, block().address, segment, stretch);
            addBlock(block(), m_order[m_next], segment.end(), stretch, covered);
            const auto reach = m_reaches->reach(block().address);
            reached = std::max({reached, roundedUp(covered, segment.rounding), reach.value_or(0)});
        }
        freeBetween(reached, segment.end(), segment, stretch);
        m_space.stretches.push_back(std::move(stretch));
    }
    [[nodiscard]] AddressSpace take() { return std::move(m_space); }

private:
    [[nodiscard]] const MemoryEvent& block() const { return m_blocks[m_order[m_next]]; }
    /// Before the first block there is none that a small gap could belong to.
    static void freeBetween(std::uint64_t begin, std::uint64_t end, const Segment& segment,
                            AddressStretch& stretch) {
        const auto smallest = static_cast<std::uint64_t>(segment.smallestFree.count);
        if (begin >= end) return;
        if (!stretch.blocks.empty() && end - begin < smallest) return;
        stretch.free.push_back({begin, end});
    }
    void closeRun() {
        if (m_run) m_space.stretches.push_back(std::move(*m_run));
        m_run.reset();
    }

    const std::vector<MemoryEvent>& m_blocks;
    const BlockReaches* m_reaches;
    std::vector<std::size_t> m_order;
    std::size_t m_next = 0;
    std::optional<AddressStretch> m_run;
    std::uint64_t m_covered = 0;
    AddressSpace m_space;
};

}  // namespace

std::vector<Segment> segmentsAt(const std::vector<Segment>& atEnd,
                                const std::vector<SegmentChange>& history, Timestamp time) {
    Reserved reserved;
    for (const Segment& segment : atEnd) reserved.add(segment);
    for (auto change = history.rbegin(); change != history.rend() && change->time > time;
         ++change) {
        if (change->reserved)
            reserved.remove(change->segment);
        else
            reserved.add(change->segment);
    }
    return reserved.list();
}

bool hasPlace(const MemoryEvent& event) {
    return event.address >= kFirstPlace && event.category != MemoryCategory::kOutside;
}

void BlockReaches::take(const MemoryEvent& event) {
    const Segment* segment = segmentOf(event.address);
    if (segment == nullptr || !hasPlace(event)) return;
    m_ends.erase(event.address);
    if (event.action == MemoryAction::kFree) return;
    const auto after = m_ends.upper_bound(event.address);
    if (after != m_ends.begin()) {
        std::uint64_t& before = std::prev(after)->second;
        before = std::min(before, event.address);
    }
    const std::uint64_t limit =
        std::min(segment->end(), after == m_ends.end() ? segment->end() : after->first);
    const std::uint64_t own = std::min(limit, roundedUp(endOf(event), segment->rounding));
    const bool splits = limit - own >= static_cast<std::uint64_t>(segment->smallestFree.count);
    m_ends.emplace_hint(after, event.address, splits ? own : limit);
}

std::optional<std::uint64_t> BlockReaches::reach(std::uint64_t address) const {
    const auto found = m_ends.find(address);
    if (found == m_ends.end()) return std::nullopt;
    return found->second;
}

const Segment* BlockReaches::segmentOf(std::uint64_t address) const {
    const auto after =
        std::upper_bound(m_segments.begin(), m_segments.end(), address,
                         [](std::uint64_t at, const Segment& each) { return at < each.address; });
    if (after == m_segments.begin()) return nullptr;
    const Segment& before = *std::prev(after);
    return address < before.end() ? &before : nullptr;
}

AddressSpace addressSpace(const std::vector<MemoryEvent>& blocks, const BlockReaches* reaches) {
    Builder builder(blocks, reaches);
    if (reaches != nullptr)
        for (const Segment& segment : reaches->segments()) {
            builder.runsUpTo(segment.address);
            builder.segment(segment);
        }
    builder.runsUpTo(~std::uint64_t{0});
    AddressSpace space = builder.take();
    space.knowsSegments = reaches != nullptr;
    return space;
}

std::optional<ReservedNow> reservedNow(const AddressSpace& space) {
    if (!space.knowsSegments) return std::nullopt;
    ReservedNow now;
    std::vector<Bytes> free;
    for (const AddressStretch& stretch : space.stretches) {
        if (!stretch.reserved) continue;
        ++now.segments;
        now.reserved.count += static_cast<std::int64_t>(stretch.end - stretch.begin);
        now.allocated += stretch.allocated;
        for (const AddressGap& gap : stretch.free)
            free.push_back({static_cast<std::int64_t>(gap.end - gap.begin)});
    }
    now.free = freeBlocks(free);
    now.lost = now.reserved - now.allocated - now.free.all;
    return now;
}

BlockEnds::BlockEnds(const std::vector<MemoryEvent>& alive) : m_ends(alive.size()) {
    m_open.reserve(alive.size());
    for (std::size_t i = 0; i < alive.size(); ++i) m_open.emplace(alive[i].address, i);
}

void BlockEnds::take(const MemoryEvent& event) {
    const auto at = m_open.find(event.address);
    if (at == m_open.end()) return;
    m_ends[at->second] = event.time;
    m_open.erase(at);
}

}  // namespace shardscope::analysis
