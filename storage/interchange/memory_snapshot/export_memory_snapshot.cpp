// A recording's memory as PyTorch's memory viewer wants it: a device a rank, its history and the
// blocks alive at the end. A rank that was imported from a snapshot has its entries, segments and
// stacks as they stood there.
//
// The viewer draws what was allocated before the history from frees without allocations and from
// the segments, so a range needs nothing more. Categories stand in the frames: an entry with a
// key "category" makes the viewer fail.
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/memory_snapshot/pickle_writer.h"
#include "storage/interchange/memory_snapshot/snapshot_json.h"
#include "storage/interchange/memory_snapshot/stored_snapshot.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/rank_facts.h"

#include <nlohmann/json.hpp>

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

auto isOf(RankId rank) {
    return [rank](const SnapshotLanes& lanes) { return lanes.rank == rank; };
}

class SnapshotExport {
public:
    SnapshotExport(ExportScope& scope, ExportWriter& writer)
        : m_scope(scope), m_pickle(writer), m_stored(scope, m_pickle) {
        findDevices();
    }

    Result<void> write() {
        m_pickle.beginDict();
        m_pickle.text("segments");
        m_pickle.beginList();
        auto done = m_stored.segments(m_statesOf);
        for (const auto& [device, rank] : m_devices)
            if (done && std::none_of(m_statesOf.begin(), m_statesOf.end(), isOf(rank)))
                done = segments(rank, device);
        if (!done) return done;
        m_pickle.endList();
        m_pickle.text("device_traces");
        m_pickle.beginList();
        for (std::size_t device = 0; device < m_deviceCount; ++device)
            if (done = history(device); !done) return done;
        m_pickle.endList();
        m_pickle.text("external_annotations");
        m_pickle.beginList();
        if (done = m_stored.annotations(m_ranks); !done) return done;
        m_pickle.endList();
        settings();
        m_pickle.endDict();
        m_pickle.stop();
        return {};
    }
    [[nodiscard]] bool devicesAreRanks() const { return m_devicesAreRanks; }
    [[nodiscard]] std::uint64_t events() const { return m_events; }
    [[nodiscard]] std::uint64_t maskedAddresses() const { return m_masked; }

private:
    using FrameKey = std::array<std::uint32_t, 3>;

    /// Ranks of snapshots keep their devices' numbers where those tell them apart.
    void findDevices() {
        const auto snapshots = storedSnapshots(m_scope.summary().run);
        std::size_t devices = 0;
        for (const StoredSnapshot& snapshot : snapshots)
            for (const SnapshotLanes& lanes : snapshot.ranks)
                if (std::binary_search(m_scope.ranks().begin(), m_scope.ranks().end(),
                                       lanes.rank)) {
                    m_ranks.push_back(lanes);
                    m_devices.emplace(static_cast<std::size_t>(lanes.device), lanes.rank);
                    devices = std::max(devices, static_cast<std::size_t>(snapshot.devices));
                }
        if (snapshots.size() == 1) m_document = snapshots.front().document;
        m_devicesAreRanks = m_devices.size() != m_scope.ranks().size();
        if (m_devicesAreRanks) {
            m_devices.clear();
            devices = 0;
            for (std::size_t i = 0; i < m_scope.ranks().size(); ++i) {
                m_devices.emplace(i, m_scope.ranks()[i]);
                const auto at =
                    std::find_if(m_ranks.begin(), m_ranks.end(), isOf(m_scope.ranks()[i]));
                if (at != m_ranks.end()) at->device = static_cast<std::int64_t>(i);
            }
        }
        m_deviceCount = std::max(devices, m_devices.empty() ? 0 : m_devices.rbegin()->first + 1);
        // What stands at the end of the history is not what stood at the end of a part.
        if (m_scope.range().end > m_scope.summary().bounds.end) m_statesOf = m_ranks;
    }

    Result<void> segments(RankId rank, std::size_t device) {
        const Timestamp end =
            std::min(m_scope.range(rank).end, m_scope.summary().bounds.end + Duration{1});
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

    Result<void> history(std::size_t device) {
        m_pickle.nextItems();
        m_pickle.beginList();
        const auto found = m_devices.find(device);
        if (found == m_devices.end()) {
            m_pickle.endList();
            return {};
        }
        const RankId rank = found->second;
        if (const auto at = std::find_if(m_ranks.begin(), m_ranks.end(), isOf(rank));
            at != m_ranks.end()) {
            auto entries = m_stored.history(*at);
            if (!entries) return failure(entries);
            m_events += *entries;
            m_pickle.endList();
            return {};
        }
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

    /// All else that the snapshot said; what the viewer looks for where there was none.
    void settings() {
        const nlohmann::json document = nlohmann::json::parse(m_document, nullptr, false);
        if (document.is_object() && !document.empty()) {
            for (const auto& [key, value] : document.items()) {
                m_pickle.text(key);
                writeJson(m_pickle, value, key);
            }
            return;
        }
        m_pickle.text("allocator_settings");
        m_pickle.beginDict();
        m_pickle.entry("PYTORCH_CUDA_ALLOC_CONF", "");
        m_pickle.entry("max_split_size", std::int64_t{-1});
        m_pickle.text("expandable_segments");
        m_pickle.boolean(false);
        m_pickle.endDict();
    }

    ExportScope& m_scope;
    PickleWriter m_pickle;
    StoredSnapshotWriter m_stored;
    std::vector<SnapshotLanes> m_ranks;     ///< that were imported from snapshots
    std::vector<SnapshotLanes> m_statesOf;  ///< those whose segments are written as they stood
    std::map<std::size_t, RankId> m_devices;
    std::size_t m_deviceCount = 0;
    bool m_devicesAreRanks = true;
    std::string m_document = "{}";
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
    ExportAccount account{
        snapshot.events(),
        {options.output},
        {snapshot.devicesAreRanks() ? "a memory snapshot holds memory only; devices in it are ranks"
                                    : "a memory snapshot holds memory only"}};
    if (snapshot.maskedAddresses() > 0)
        account.notes.push_back("the highest bit of " + std::to_string(snapshot.maskedAddresses()) +
                                " addresses was cleared: the viewer takes them for negative");
    return account;
}

Result<ReaderResult> readMemorySnapshot(const ReaderRequest& request);

Format memorySnapshotFormat() {
    return {.name = "memory-snapshot",
            .file = "a PyTorch memory snapshot",
            .reads = "memory snapshots of PyTorch (pickle)",
            .endings = {".pickle"},
            .looksLike =
                [](std::string_view front) {
                    // Protocols 2 to 5.
                    return front.size() > 1 && front[0] == '\x80' && front[1] >= 2 && front[1] <= 5;
                },
            .read = readMemorySnapshot,
            .writes = "for pytorch.org/memory_viz",
            .ending = ".pickle",
            .isIn = [](const RecordingSummary& summary) { return summary.events.memory > 0; },
            .write = exportMemorySnapshot};
}

}  // namespace shardscope::interchange
