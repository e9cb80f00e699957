#include "profiler/questions/read_segments.h"

#include "storage/interchange/json_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace shardscope::questions {
namespace {

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

/// In the order of the history, which times tell to a microsecond only.
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

}  // namespace

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
    SegmentsThen told;
    if (findSnapshotLane(summary, rank, kSnapshotReserved) == nullptr) {
        told.unknown = "segments are recorded by memory snapshots of PyTorch only";
        return told;
    }
    const LaneFacts* atEnd = findSnapshotLane(summary, rank, kSnapshotSegments);
    if (atEnd == nullptr) {
        told.unknown = "the snapshot lists no segments at its end";
        return told;
    }
    const Timestamp end = summary.bounds.end + Duration{1};
    auto last = readAtEnd(reader, *atEnd, end);
    if (!last) return failure(last);
    if (last->empty()) {
        told.unknown =
            "the recording does not reach to the snapshot's end, where its segments stand";
        return told;
    }
    std::vector<SegmentChange> changes;
    if (const LaneFacts* history = findSnapshotLane(summary, rank, kSnapshotHistory)) {
        auto read = readHistory(reader, *history, {time + Duration{1}, end});
        if (!read) return failure(read);
        changes = std::move(*read);
    }
    told.segments = analysis::segmentsAt(*last, changes, time);
    return told;
}

}  // namespace shardscope::questions
