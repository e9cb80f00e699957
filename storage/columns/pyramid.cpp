#include "storage/columns/pyramid.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardscope::columns {

template <class Summary>
void PyramidSegment<Summary>::add(int level, const Summary& item) {
    const int shift = bucketShift(level);
    const std::int64_t bucket = item.time().ns >> shift;
    const auto before = [shift](const Summary& s, std::int64_t b) {
        return s.time().ns >> shift < b;
    };
    if (m_byDepth.size() <= depthOf(item)) m_byDepth.resize(depthOf(item) + 1);
    m_events += item.count;
    if (standsAlone(item, level)) {
        m_byDepth[depthOf(item)].alone.push_back(item);
        ++m_size;
        return;
    }
    std::vector<Summary>& row = m_byDepth[depthOf(item)].merged;
    // Events arrive roughly in order: nearly always the last bucket is meant, or a new one.
    auto at = row.end();
    if (!row.empty() && row.back().time().ns >> shift >= bucket)
        at = std::lower_bound(row.begin(), row.end(), bucket, before);
    if (at != row.end() && at->time().ns >> shift == bucket) return at->merge(item);
    row.insert(at, item);
    ++m_size;
}

template <class Summary>
std::vector<Summary> PyramidSegment<Summary>::summaries() const {
    std::vector<Summary> all;
    all.reserve(m_size);
    for (const DepthItems& row : m_byDepth) {
        const auto from = static_cast<std::ptrdiff_t>(all.size());
        all.insert(all.end(), row.alone.begin(), row.alone.end());
        all.insert(all.end(), row.merged.begin(), row.merged.end());
        std::stable_sort(all.begin() + from, all.end(),
                         [](const Summary& a, const Summary& b) { return a.time() < b.time(); });
    }
    return all;
}

namespace {

/// Of a point in time, or of a stretch.
Timestamp lastOf(const SpanSummary& s) {
    return s.last;
}
Timestamp lastOf(const CounterSummary& s) {
    return s.last;
}

/// Whether some of its events may have started at `time` or later.
template <class Summary>
bool reaches(const Summary& s, Timestamp time, int level) {
    if (s.time() >= time) return true;
    return s.count > 1 && !standsAlone(s, level) && lastOf(s) >= time;
}

}  // namespace

template <class Summary>
PyramidSegment<Summary> PyramidSegment<Summary>::since(Timestamp time, int level) const {
    PyramidSegment kept;
    for (const Summary& summary : summaries())
        if (reaches(summary, time, level)) kept.add(level, summary);
    return kept;
}

/// Loads it where it was stored and forgotten.
template <class Summary>
Result<void> LanePyramid<Summary>::hold(const Key& key) {
    if (m_segments.contains(key)) return {};
    Held fresh;
    if (m_stored.contains(key)) {
        auto stored = m_load(key);
        if (!stored) return failure(stored);
        for (const Summary& summary : *stored) fresh.segment.add(key.level, summary);
    }
    fresh.touched = m_age;
    m_segments.emplace(key, std::move(fresh));
    return {};
}

template <class Summary>
Result<void> LanePyramid<Summary>::put(int level, const Summary& item) {
    const Key key{level, segmentOf(level, item.time())};
    if (m_left.contains(key) && !m_segments.contains(key)) return {};
    if (auto held = hold(key); !held) return held;
    const auto at = m_segments.find(key);
    at->second.segment.add(level, item);
    at->second.changed = true;
    at->second.touched = m_age;
    return {};
}

template <class Summary>
Result<void> LanePyramid<Summary>::push(int level, const Summary& item) {
    for (; level < kPyramidLevels && standsAlone(item, level); ++level) {
        if (!belongsTo(item, level)) continue;
        if (auto done = put(level, item); !done) return done;
    }
    if (level == kPyramidLevels) return {};
    auto& row = m_open[static_cast<std::size_t>(level)];
    if (row.size() <= depthOf(item)) row.resize(depthOf(item) + 1);
    const int shift = bucketShift(level);
    Summary& open = row[depthOf(item)];
    if (open.count != 0 && open.time().ns >> shift == item.time().ns >> shift) {
        open.merge(item);
        return {};
    }
    if (auto done = emit(level, open); !done) return done;
    open = item;
    return {};
}

/// Hands a filled bucket to its segment and to the level above.
template <class Summary>
Result<void> LanePyramid<Summary>::emit(int level, Summary& open) {
    if (open.count == 0) return {};
    const Summary full = std::exchange(open, Summary{});
    if (auto done = put(level, full); !done) return done;
    if (level + 1 == kPyramidLevels) return {};
    return push(level + 1, full);
}

template <class Summary>
Result<void> LanePyramid<Summary>::add(std::span<const Summary> items) {
    ++m_age;
    for (const Summary& item : items)
        if (auto done = push(0, item); !done) return done;
    for (int level = 0; level < kPyramidLevels; ++level)
        for (Summary& open : m_open[static_cast<std::size_t>(level)])
            if (auto done = emit(level, open); !done) return done;
    return {};
}

template <class Summary>
bool LanePyramid<Summary>::worthStoring(const Key& key, const Held& held) {
    return key.level >= kFirstLevelAlwaysStored ||
           held.segment.events() >= kWorthStoring * held.segment.size();
}

template <class Summary>
Result<void> LanePyramid<Summary>::write(const Store& store) {
    for (auto& [key, held] : m_segments) {
        if (!held.changed) continue;
        if (!m_stored.contains(key) && !worthStoring(key, held)) continue;
        if (auto done = store(key, held.segment.summaries()); !done) return done;
        m_stored.insert(key);
        held.changed = false;
    }
    return {};
}

template <class Summary>
std::size_t LanePyramid<Summary>::size() const {
    std::size_t size = 0;
    for (const auto& [key, held] : m_segments) size += held.segment.size();
    return size;
}

template <class Summary>
std::size_t LanePyramid<Summary>::changedSize() const {
    std::size_t size = 0;
    for (const auto& [key, held] : m_segments)
        if (held.changed && (m_stored.contains(key) || worthStoring(key, held)))
            size += held.segment.size();
    return size;
}

template <class Summary>
void LanePyramid<Summary>::forget(std::uint64_t ages) {
    std::erase_if(m_segments, [&](const auto& entry) {
        const Held& held = entry.second;
        if (held.touched + ages > m_age) return false;
        if (held.changed && m_stored.contains(entry.first)) return false;
        if (held.changed) m_left.insert(entry.first);
        return true;
    });
}

template <class Summary>
Result<void> LanePyramid<Summary>::trim(Timestamp time, const Store& store, const Remove& remove) {
    for (int level = 0; level < kPyramidLevels; ++level) {
        const Key first{level, std::numeric_limits<std::int64_t>::min()};
        const Key around{level, segmentOf(level, time)};
        m_left.erase(m_left.lower_bound(first), m_left.lower_bound(around));
        m_segments.erase(m_segments.lower_bound(first), m_segments.lower_bound(around));
        const auto from = m_stored.lower_bound(first), to = m_stored.lower_bound(around);
        for (auto at = from; at != to; ++at)
            if (auto removed = remove(*at); !removed) return removed;
        m_stored.erase(from, to);
        if (!m_stored.contains(around) && !m_segments.contains(around)) continue;
        if (auto held = hold(around); !held) return held;
        Held& cut = m_segments.at(around);
        cut.segment = cut.segment.since(time, level);
        if (!m_stored.contains(around)) continue;
        const auto left = cut.segment.summaries();
        if (auto stored = store(around, left); !stored) return stored;
        cut.changed = false;
    }
    return {};
}

template <class Summary>
std::vector<Summary> LanePyramid<Summary>::segment(const Key& key) const {
    const auto at = m_segments.find(key);
    return at == m_segments.end() ? std::vector<Summary>{} : at->second.segment.summaries();
}

template class PyramidSegment<SpanSummary>;
template class PyramidSegment<CounterSummary>;
template class LanePyramid<SpanSummary>;
template class LanePyramid<CounterSummary>;

void SpanGrouper::add(const SpanSummary& item) {
    if (m_byDepth.size() <= item.depth) m_byDepth.resize(item.depth + std::size_t{1});
    std::vector<SpanSummary>& row = m_byDepth[item.depth];
    const auto isAlone = [&](const SpanSummary& s) {
        return s.count == 1 && s.busy.ns >= std::int64_t{1} << m_shift;
    };
    const bool joins = !row.empty() && !isAlone(row.back()) && !isAlone(item) &&
                       row.back().first.ns >> m_shift == item.first.ns >> m_shift;
    if (joins)
        row.back().merge(item);
    else
        row.push_back(item);
}

std::vector<SpanSummary> SpanGrouper::take() {
    std::vector<SpanSummary> all;
    for (std::vector<SpanSummary>& row : m_byDepth) all.insert(all.end(), row.begin(), row.end());
    m_byDepth.clear();
    return all;
}

}  // namespace shardscope::columns
