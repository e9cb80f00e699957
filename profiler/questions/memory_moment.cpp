#include "profiler/questions/memory_moment.h"

#include "profiler/questions/read_segments.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace shardscope::questions {
namespace {

using Json = nlohmann::json;

/// Events that are read at once, where they are spread evenly.
constexpr std::int64_t kAtOnce = 1 << 18;

bool isPart(const RecordingSummary& summary) {
    return std::any_of(summary.diagnostics.begin(), summary.diagnostics.end(),
                       [](const Diagnostic& each) { return each.code == kPartOfRecording; });
}

/// Whether an allocation stands for a block that was there before.
class Starts {
public:
    Starts(storage::RecordingReader& reader, const RecordingSummary& summary, RankId rank)
        : m_reader(reader),
          m_rank(rank),
          m_begin(summary.bounds.begin),
          m_isPart(isPart(summary)),
          m_isSnapshot(findSnapshotLane(summary, rank, kSnapshotReserved) != nullptr) {
        for (const DetailFacts& detail : summary.detail)
            if (detail.rank == rank && isThinned(detail.reason))
                m_thinned.push_back(detail.range.end);
    }
    bool known(const MemoryEvent& block) {
        if (!analysis::hasPlace(block)) return false;
        if (std::find(m_thinned.begin(), m_thinned.end(), block.time) != m_thinned.end())
            return false;
        if (block.time > m_begin) return true;
        if (m_isPart) return false;
        // An entry of the history has its number.
        return !m_isSnapshot || m_reader.text(m_rank, block.arguments).starts_with("{\"entry\":");
    }

private:
    storage::RecordingReader& m_reader;
    RankId m_rank;
    Timestamp m_begin;
    bool m_isPart, m_isSnapshot;
    std::vector<Timestamp> m_thinned;
};

/// A stretch at a time, until `show` has seen enough.
template <class Show>
Result<void> forEachEvent(storage::RecordingReader& reader, const RecordingSummary& summary,
                          RankId rank, TimeRange range, Show show) {
    const auto all = static_cast<std::int64_t>(summary.events.memory);
    const Duration stretch{
        std::max<std::int64_t>(1, summary.bounds.duration().ns / (1 + all / kAtOnce))};
    for (Timestamp from = range.begin; from < range.end; from = from + stretch) {
        const auto events = reader.memoryEvents(rank, {from, std::min(range.end, from + stretch)});
        if (!events) return failure(events);
        for (const MemoryEvent& event : *events)
            if (!show(event)) return {};
    }
    return {};
}

bool holdsOutside(const analysis::AddressSpace& space) {
    return std::any_of(space.stretches.begin(), space.stretches.end(), [](const auto& stretch) {
        return !stretch.reserved && stretch.allocated.count > 0;
    });
}

std::string placeOf(const Json& frame) {
    const auto file = frame.value("filename", std::string());
    if (file.empty() || file == "??") return {};
    const auto line = frame.value("line", std::int64_t{0});
    const std::string name = file.substr(file.rfind('/') + 1);
    return line > 0 ? name + ":" + std::to_string(line) : name;
}

}  // namespace

Result<MemoryMoment> readMoment(storage::RecordingReader& reader, const RecordingSummary& summary,
                                RankId rank, Timestamp time) {
    auto blocks = reader.liveMemory(rank, time);
    if (!blocks) return failure(blocks);
    auto segments = readSegments(reader, summary, rank, time);
    if (!segments) return failure(segments);
    MemoryMoment moment;
    moment.blocks = std::move(*blocks);
    Starts starts(reader, summary, rank);
    for (const MemoryEvent& block : moment.blocks)
        moment.startsKnown.push_back(starts.known(block));
    std::optional<analysis::BlockReaches> reaches;
    if (segments->segments) {
        reaches.emplace(std::move(*segments->segments));
        const TimeRange before{summary.bounds.begin, time + Duration{1}};
        auto done = forEachEvent(reader, summary, rank, before, [&](const MemoryEvent& event) {
            reaches->take(event);
            return true;
        });
        if (!done) return failure(done);
    }
    moment.space = analysis::addressSpace(moment.blocks, reaches ? &*reaches : nullptr);
    moment.unknown = std::move(segments->unknown);
    if (reaches && holdsOutside(moment.space)) {
        // such as our own export writes: of runs without segments
        moment.space = analysis::addressSpace(moment.blocks, nullptr);
        moment.unknown =
            "blocks lie in no segment that the snapshot tells of, so it does not tell "
            "of all";
    }
    moment.reserved = analysis::reservedNow(moment.space);
    return moment;
}

Result<std::vector<std::optional<Timestamp>>> readBlockEnds(storage::RecordingReader& reader,
                                                            const RecordingSummary& summary,
                                                            RankId rank,
                                                            const std::vector<MemoryEvent>& blocks,
                                                            Timestamp time) {
    analysis::BlockEnds ends(blocks);
    const TimeRange later{time + Duration{1}, summary.bounds.end + Duration{1}};
    auto done = forEachEvent(reader, summary, rank, later, [&](const MemoryEvent& event) {
        ends.take(event);
        return !ends.complete();
    });
    if (!done) return failure(done);
    return ends.ends();
}

std::vector<StackFrame> readStack(storage::RecordingReader& reader, RankId rank,
                                  StringId arguments) {
    std::vector<StackFrame> stack;
    const Json json = Json::parse(reader.text(rank, arguments), nullptr, false);
    if (!json.is_object() || !json.contains("frames") || !json["frames"].is_array()) return stack;
    for (const Json& frame : json["frames"]) {
        if (!frame.is_object()) continue;
        // What a foreign file says under these keys can be anything.
        try {
            stack.push_back({frame.value("name", std::string()), placeOf(frame)});
        } catch (const Json::exception&) {
            continue;
        }
    }
    return stack;
}

}  // namespace shardscope::questions
