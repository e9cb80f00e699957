#include "storage/recording/verify/verify_parts.h"

#include <algorithm>

namespace shardscope::storage {

using columns::CounterSummary;
using columns::SpanSummary;

void SegmentSum::add(const SpanSummary& s) {
    count += s.count;
    busy += static_cast<std::uint64_t>(s.busy.ns);
    first = std::min(first, s.first.ns);
    last = std::max(last, s.last.ns);
}

void SegmentSum::add(const CounterSummary& s) {
    count += s.count;
    first = std::min(first, s.first.ns);
    last = std::max(last, s.last.ns);
    // Written so that NaN changes neither.
    if (s.minimum < minimum) minimum = s.minimum;
    if (s.maximum > maximum) maximum = s.maximum;
}

bool SegmentSum::holds(const SegmentSum& part) const {
    return count >= part.count && last >= part.last && minimum <= part.minimum &&
           maximum >= part.maximum;
}

std::string PyramidAudit::nameOf(const Key& key) const {
    return "segment " + std::to_string(key.second) + " of level " + std::to_string(key.first) +
           " of rank " + std::to_string(m_rank.value) + " lane " + std::to_string(m_lane.value);
}

void PyramidAudit::load(bool spans) {
    const std::string sql = "SELECT level, segment, through_chunk, data FROM pyramid WHERE rank=" +
                            std::to_string(m_rank.value) +
                            " AND lane=" + std::to_string(m_lane.value);
    const bool read = forRows(m_context, "pyramid", sql, [&](const Statement& row) {
        const auto level = static_cast<int>(row.integer(0));
        const Key key{level, row.integer(1)};
        ++m_context.found.pyramidSegments;
        if (level < 0 || level >= columns::kPyramidLevels) {
            m_context.found.add("pyramid", nameOf(key) + " is of a level that does not exist");
            return;
        }
        Segment& segment = m_segments[key];
        segment.stored = m_anyStored = true;
        segment.throughChunk = row.integer(2);
        const auto sum = [&](const auto& summaries) {
            if (!summaries) {
                m_trusted = false;
                m_context.found.add("pyramid", nameOf(key) + ": " + summaries.error().message);
                return;
            }
            for (const auto& summary : *summaries) {
                segment.summed.add(summary);
                if (columns::segmentOf(level, summary.time()) != key.second)
                    m_context.found.add("pyramid", nameOf(key) + " holds a summary of another");
            }
        };
        if (spans)
            sum(columns::decodeSpanSummaries(row.blob(3)));
        else
            sum(columns::decodeCounterSummaries(row.blob(3)));
    });
    m_trusted = m_trusted && read;
}

/// Adds an event to its segments from `level` upwards.
template <class Summary>
void PyramidAudit::addFrom(int level, std::int64_t chunk, const Summary& item) {
    for (; level < columns::kPyramidLevels; ++level) {
        const std::int64_t segment = columns::segmentOf(level, item.time());
        auto& [recent, at] = m_recent[static_cast<std::size_t>(level)];
        if (at == nullptr || recent != segment) {
            recent = segment;
            at = &m_segments[{level, segment}];
        }
        if (!at->stored || at->throughChunk >= chunk) at->found.add(item);
    }
}

void PyramidAudit::add(std::int64_t chunk, const std::vector<SpanEvent>& events) {
    for (const SpanEvent& event : events) {
        const SpanSummary item = SpanSummary::of(event);
        int level = 0;
        while (level + 1 < columns::kPyramidLevels && columns::standsAlone(item, level + 1))
            ++level;
        addFrom(level, chunk, item);
    }
}

void PyramidAudit::add(std::int64_t chunk, const std::vector<CounterEvent>& samples) {
    for (const CounterEvent& sample : samples) addFrom(0, chunk, CounterSummary::of(sample));
}

void PyramidAudit::compare(bool memory) {
    if (!m_trusted) return;
    for (const auto& [key, segment] : m_segments) {
        if (!segment.stored) {
            if (m_anyStored && m_context.found.complete &&
                key.first >= columns::kFirstLevelAlwaysStored && !memory)
                m_context.found.add("pyramid", nameOf(key) + " is missing");
            continue;
        }
        const SegmentSum& summed = segment.summed;
        const SegmentSum& found = segment.found;
        const bool thinned = columns::segmentRange(key.first, key.second).begin < m_thinned;
        const bool agrees = memory || thinned ? summed.holds(found) : summed == found;
        if (!agrees)
            m_context.found.add("pyramid", nameOf(key) + " sums up " +
                                               std::to_string(summed.count) + " events, " +
                                               std::to_string(found.count) +
                                               " are stored there, or their times differ");
    }
}

}  // namespace shardscope::storage
