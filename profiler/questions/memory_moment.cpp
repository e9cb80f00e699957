#include "profiler/questions/memory_moment.h"

#include "profiler/analysis/memory/address_space.h"
#include "storage/interchange/json_text.h"
#include "storage/model/allocator_lanes.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::questions {
namespace {

struct SegmentsThen {
    std::optional<std::vector<analysis::Segment>> segments;
    std::string unknown;  ///< where there are none: why
};

using analysis::Segment;
using analysis::SegmentChange;

/// Larger segments are none.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

/// How c10's CUDACachingAllocator cuts segments, unless PYTORCH_CUDA_ALLOC_CONF says otherwise:
/// sizes are rounded up to kRounding; it cuts off what is left of a block where that is at least
/// kRounding, in segments that hold blocks of more than 1 MiB and do not grow where it is more than
/// 1 MiB. Segments for smaller ones have 2 MiB.
constexpr Bytes kRounding{512};
constexpr Bytes kLargeRest{(1 << 20) + 1};
constexpr Bytes kSmallSegment{2 << 20};

/// Arguments of an instant; numbers by key.
class Arguments {
public:
    explicit Arguments(std::string_view json) {
        interchange::TextFlags flags;
        if (json.empty() || interchange::readMembers(json.data(), json.data() + json.size(),
                                                     m_members, flags) == nullptr)
            m_members.clear();
    }
    [[nodiscard]] std::string_view value(std::string_view key) const {
        return interchange::valueOf(m_members, key);
    }
    template <class Number>
    [[nodiscard]] std::optional<Number> number(std::string_view key) const {
        const std::string_view text = value(key);
        Number number{};
        const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
        if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
            return std::nullopt;
        return number;
    }
    [[nodiscard]] std::optional<Segment> segment(std::string_view address,
                                                 std::string_view size) const {
        const auto at = number<std::uint64_t>(address);
        const auto bytes = number<std::int64_t>(size);
        if (!at || !bytes || *bytes <= 0 || *bytes > kMostBytes) return std::nullopt;
        return Segment{*at, {*bytes}, kRounding, kRounding, false};
    }

private:
    std::vector<interchange::Member> m_members;
};

std::optional<Segment> segmentAtEnd(const Arguments& arguments) {
    auto segment = arguments.segment("address", "total_size");
    if (!segment) return segment;
    segment->grows = arguments.value("is_expandable") == "true";
    const bool large = arguments.value("segment_type") == "\"large\"";
    if (large && !segment->grows) segment->smallestFree = kLargeRest;
    return segment;
}

std::optional<SegmentChange> changeOf(SegmentAction action, Timestamp time,
                                      const Arguments& arguments) {
    auto segment = arguments.segment("addr", "size");
    if (!segment) return std::nullopt;
    segment->grows = isPart(action);
    if (!segment->grows && segment->size != kSmallSegment) segment->smallestFree = kLargeRest;
    return SegmentChange{time, *segment, reserves(action)};
}

Result<std::vector<Segment>> readAtEnd(storage::RecordingReader& reader, const LaneFacts& lane,
                                       Timestamp end) {
    const auto instants = reader.instants(lane.rank, lane.lane, {kBeginningOfTime, end});
    if (!instants) return failure(instants);
    std::vector<Segment> segments;
    for (const InstantEvent& instant : *instants) {
        if (reader.text(lane.rank, instant.name) != "segment") continue;
        const auto segment = segmentAtEnd(Arguments(reader.text(lane.rank, instant.arguments)));
        if (segment) segments.push_back(*segment);
    }
    return segments;
}

/// In the order of the history, since times are exact to a microsecond only.
Result<std::vector<SegmentChange>> readHistory(storage::RecordingReader& reader,
                                               const LaneFacts& lane, TimeRange range) {
    const auto instants = reader.instants(lane.rank, lane.lane, range);
    if (!instants) return failure(instants);
    std::vector<std::pair<std::int64_t, SegmentChange>> found;
    for (const InstantEvent& instant : *instants) {
        const auto action = fromWord<SegmentAction>(reader.text(lane.rank, instant.name));
        if (!action) continue;
        const Arguments arguments(reader.text(lane.rank, instant.arguments));
        if (const auto change = changeOf(*action, instant.time, arguments))
            found.emplace_back(arguments.number<std::int64_t>("entry").value_or(-1), *change);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.second.time != b.second.time ? a.second.time < b.second.time : a.first < b.first;
    });
    std::vector<SegmentChange> changes;
    for (const auto& [entry, change] : found) changes.push_back(change);
    return changes;
}

/// A lane of a snapshot's import by its name; null: the rank was not imported from one, or has no
/// such lane.
const LaneFacts* findSnapshotLane(const RecordingSummary& summary, RankId rank,
                                  std::string_view name) {
    const LaneFacts* found = nullptr;
    bool isSnapshot = false;
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != rank) continue;
        if (lane.name == kSnapshotReserved) isSnapshot = true;
        if (lane.name == name) found = &lane;
    }
    return isSnapshot ? found : nullptr;
}

Result<SegmentsThen> readSegments(storage::RecordingReader& reader, const RecordingSummary& summary,
                                  RankId rank, Timestamp time) {
    SegmentsThen then;
    if (findSnapshotLane(summary, rank, kSnapshotReserved) == nullptr) {
        then.unknown = "segments are recorded by memory snapshots of PyTorch only";
        return then;
    }
    const LaneFacts* atEnd = findSnapshotLane(summary, rank, kSnapshotSegments);
    if (atEnd == nullptr) {
        then.unknown = "the snapshot lists no segments at its end";
        return then;
    }
    const Timestamp end = summary.bounds.end + Duration{1};
    auto last = readAtEnd(reader, *atEnd, end);
    if (!last) return failure(last);
    if (last->empty()) {
        then.unknown =
            "the recording ends before the snapshot does, which lists its segments at the end";
        return then;
    }
    std::vector<SegmentChange> changes;
    if (const LaneFacts* history = findSnapshotLane(summary, rank, kSnapshotHistory)) {
        auto read = readHistory(reader, *history, {time + Duration{1}, end});
        if (!read) return failure(read);
        changes = std::move(*read);
    }
    then.segments = analysis::segmentsAt(*last, changes, time);
    return then;
}

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
            "some blocks lie in no listed segment, so the snapshot's list of segments is "
            "incomplete";
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
