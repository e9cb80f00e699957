// A recording's memory as PyTorch's memory viewer wants it: a device a rank, its history and the
// blocks alive at the end.
//
// The viewer draws what was allocated before the history from frees without allocations and from
// the segments, so a range needs nothing more. Categories stand in the frames: an entry with a
// key "category" makes the viewer fail.
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/memory_snapshot/pickle_writer.h"
#include "storage/interchange/output_kind.h"

#include <algorithm>
#include <array>
#include <map>

namespace shardscope::interchange {
namespace {

/// JavaScript would read a longer one as negative.
constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 63) - 1;
/// Blocks with no more between them stand in one segment.
constexpr std::uint64_t kGap = std::uint64_t{2} << 20;
constexpr std::size_t kBatch = 1000;  ///< entries a reader holds on its stack

struct Block {
    std::uint64_t address;
    std::int64_t size;
    const MemoryEvent* event;  ///< null: free space between two
};
using Segment = std::vector<Block>;

/// Alive blocks in contiguous stretches: the viewer takes addresses from the sizes before them.
std::vector<Segment> segmentsOf(std::vector<MemoryEvent>& alive) {
    std::sort(alive.begin(), alive.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
        return (a.address & kAddressMask) < (b.address & kAddressMask);
    });
    std::vector<Segment> segments;
    std::uint64_t end = 0;
    for (const MemoryEvent& event : alive) {
        const std::uint64_t address = event.address & kAddressMask;
        const std::int64_t size = std::max<std::int64_t>(0, event.size.count);
        const bool joined = !segments.empty() && address >= end && address - end <= kGap;
        if (!joined)
            segments.emplace_back();
        else if (address > end)
            segments.back().push_back({end, static_cast<std::int64_t>(address - end), nullptr});
        segments.back().push_back({address, size, &event});
        end = address + static_cast<std::uint64_t>(size);
    }
    return segments;
}

class SnapshotExport {
public:
    SnapshotExport(ExportScope& scope, ExportWriter& writer) : m_scope(scope), m_pickle(writer) {}

    Result<void> write() {
        m_pickle.beginDict();
        m_pickle.text("segments");
        m_pickle.beginList();
        for (std::size_t i = 0; i < m_scope.ranks().size(); ++i)
            if (auto done = segments(m_scope.ranks()[i], i); !done) return done;
        m_pickle.endList();
        m_pickle.text("device_traces");
        m_pickle.beginList();
        for (const RankId rank : m_scope.ranks())
            if (auto done = history(rank); !done) return done;
        m_pickle.endList();
        settings();
        m_pickle.endDict();
        m_pickle.stop();
        return {};
    }
    [[nodiscard]] std::uint64_t events() const { return m_events; }
    [[nodiscard]] std::uint64_t maskedAddresses() const { return m_masked; }

private:
    using FrameKey = std::array<std::uint32_t, 3>;

    Result<void> segments(RankId rank, std::size_t device) {
        const Timestamp end =
            std::min(m_scope.range().end, m_scope.summary().bounds.end + Duration{1});
        auto alive = m_scope.reader().liveMemory(rank, end);
        if (!alive) return failure(alive);
        for (const Segment& segment : segmentsOf(*alive)) this->segment(rank, device, segment);
        return {};
    }

    void segment(RankId rank, std::size_t device, const Segment& segment) {
        std::int64_t total = 0, used = 0;
        for (const Block& block : segment) {
            total += block.size;
            if (block.event != nullptr) used += block.size;
        }
        m_pickle.nextItems();
        m_pickle.beginDict();
        m_pickle.entry("device", static_cast<std::int64_t>(device));
        m_pickle.entry("address", static_cast<std::int64_t>(segment.front().address));
        m_pickle.entry("total_size", total);
        for (const char* key : {"allocated_size", "active_size", "requested_size"})
            m_pickle.entry(key, used);
        m_pickle.entry("stream", std::int64_t{0});
        m_pickle.entry("segment_type", total < static_cast<std::int64_t>(kGap) ? "small" : "large");
        m_pickle.text("is_expandable");
        m_pickle.boolean(false);
        m_pickle.text("frames");
        m_pickle.beginList();
        m_pickle.endList();
        m_pickle.text("blocks");
        m_pickle.beginList();
        for (const Block& block : segment) this->block(rank, block);
        m_pickle.endList();
        m_pickle.endDict();
    }

    void block(RankId rank, const Block& block) {
        m_pickle.nextItems();
        m_pickle.beginDict();
        m_pickle.entry("address", static_cast<std::int64_t>(block.address));
        m_pickle.entry("size", block.size);
        m_pickle.entry("requested_size", block.event == nullptr ? 0 : block.size);
        m_pickle.entry("state", block.event == nullptr ? "inactive" : "active_allocated");
        m_pickle.text("frames");
        if (block.event != nullptr) {
            frames(rank, *block.event);
        } else {
            m_pickle.beginList();
            m_pickle.endList();
        }
        m_pickle.endDict();
    }

    Result<void> history(RankId rank) {
        m_pickle.nextItems();
        m_pickle.beginList();
        std::size_t inBatch = 0;
        auto walked = m_scope.forEachMemoryEvent(rank, [&](const MemoryEvent& event) {
            if (++inBatch % kBatch == 0) m_pickle.nextItems();
            entry(rank, event);
        });
        m_pickle.endList();
        return walked;
    }

    void entry(RankId rank, const MemoryEvent& event) {
        ++m_events;
        if ((event.address & ~kAddressMask) != 0) ++m_masked;
        m_pickle.beginDict();
        m_pickle.entry("action",
                       event.action == MemoryAction::kAllocate ? "alloc" : "free_completed");
        m_pickle.entry("addr", static_cast<std::int64_t>(event.address & kAddressMask));
        m_pickle.entry("size", event.size.count);
        m_pickle.entry("stream", std::int64_t{0});
        m_pickle.entry("time_us", (m_scope.summary().run.startedUnixNs + event.time.ns) / 1000);
        m_pickle.text("frames");
        frames(rank, event);
        m_pickle.endDict();
    }

    /// One frame: owner and category, the layer in the file's place.
    void frames(RankId rank, const MemoryEvent& event) {
        const FrameKey key = {rank.value, event.owner.value,
                              static_cast<std::uint32_t>(event.category) << 16 |
                                  static_cast<std::uint16_t>(event.layer.value)};
        if (const auto known = m_frames.find(key); known != m_frames.end())
            return m_pickle.recall(known->second);
        const std::string_view owner = m_scope.reader().text(rank, event.owner);
        std::string name = toWord(event.category);
        if (!owner.empty()) name += ": " + std::string(owner);
        m_pickle.beginList();
        m_pickle.beginDict();
        m_pickle.entry("filename", layerTitle(event.layer));
        m_pickle.entry("line", std::int64_t{0});
        m_pickle.entry("name", name);
        m_pickle.endDict();
        m_pickle.endList();
        m_frames.emplace(key, m_pickle.remember());
    }

    void settings() {
        m_pickle.text("allocator_settings");
        m_pickle.beginDict();
        m_pickle.entry("PYTORCH_CUDA_ALLOC_CONF", "");
        m_pickle.entry("max_split_size", std::int64_t{-1});
        m_pickle.text("expandable_segments");
        m_pickle.boolean(false);
        m_pickle.endDict();
        m_pickle.text("external_annotations");
        m_pickle.beginList();
        m_pickle.endList();
    }

    ExportScope& m_scope;
    PickleWriter m_pickle;
    std::map<FrameKey, std::uint32_t> m_frames;  ///< memo of a list of frames
    std::uint64_t m_events = 0;
    std::uint64_t m_masked = 0;
};

}  // namespace

Result<ExportAccount> exportMemorySnapshot(storage::RecordingReader& reader,
                                           const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kSnapshotFile));
    if (!writer) return failure(writer);
    SnapshotExport snapshot(*scope, *writer);
    if (auto done = snapshot.write(); !done) return failure(done, "exporting a memory snapshot");
    if (snapshot.events() == 0)
        return failure(ErrorCode::kUsage,
                       "no memory event lies within what is to be exported: "
                       "choose other ranks or a wider range, or record with "
                       "memory");
    if (auto done = writer->finish(); !done) return failure(done);
    ExportAccount account{snapshot.events(),
                          {options.output},
                          {"a memory snapshot holds memory only; devices in it are ranks"}};
    if (snapshot.maskedAddresses() > 0)
        account.notes.push_back("the highest bit of " + std::to_string(snapshot.maskedAddresses()) +
                                " addresses was cleared: the viewer takes them for negative");
    return account;
}

}  // namespace shardscope::interchange
