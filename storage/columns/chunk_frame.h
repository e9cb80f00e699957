// Header and payload of a chunk, shared by all kinds. Internal to storage/columns.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/columns/column.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace shardscope::columns {

inline constexpr std::uint8_t kCodecVersion = 1;
/// Values are decoded this many at a time, so that they stay in the first-level cache.
inline constexpr std::size_t kBlock = 1024;
/// Times and sizes beyond 2^61 are refused: sums of two of them can never overflow.
inline constexpr std::int64_t kValueLimit = std::int64_t{1} << 61;

struct OpenChunk {
    ChunkHeader header;
    std::vector<std::byte> payload;  ///< decompressed
};

/// Checks header and checksum and decompresses; an error unless it is of `kind`.
Result<OpenChunk> openChunk(std::span<const std::byte> chunk, EventKind kind,
                            std::size_t maxBytesAnEvent);
ChunkBytes closeChunk(const ChunkHeader& header, std::span<const std::byte> payload);

/// Events per lane, in lane order.
template <class Event>
std::vector<LaneCount> countLanes(std::span<const Event> events) {
    std::vector<LaneCount> lanes;
    for (const Event& event : events) {
        if (!lanes.empty() && lanes.back().lane == event.lane) {
            ++lanes.back().count;
            continue;
        }
        const auto at = std::find_if(lanes.begin(), lanes.end(),
                                     [&](const LaneCount& l) { return l.lane == event.lane; });
        if (at == lanes.end()) {
            lanes.push_back({event.lane, 1});
        } else {
            ++at->count;
            std::swap(*at, lanes.back());
        }
    }
    std::sort(lanes.begin(), lanes.end(),
              [](const LaneCount& a, const LaneCount& b) { return a.lane < b.lane; });
    return lanes;
}

/// Of events without length, in order of time.
template <class Event>
ChunkHeader momentsHeader(EventKind kind, RankId rank, std::span<const Event> events) {
    return {kCodecVersion,
            kind,
            rank,
            static_cast<std::uint32_t>(events.size()),
            events.front().time,
            events.back().time,
            countLanes(events)};
}

[[nodiscard]] tl::unexpected<Error> badChunk(EventKind kind, const std::string& how);

/// Collects one field of every event and appends it as a column.
template <class Event>
class ColumnWriter {
public:
    explicit ColumnWriter(std::span<const Event> events)
        : m_events(events), m_values(events.size()) {
        m_payload.reserve(events.size() * 16 + 1024);
    }
    template <class Field>
    void add(Field field) {
        gather(field);
        encodeColumn(m_values, m_payload);
    }
    template <class Field>
    void addRepeating(Field field) {
        gather(field);
        encodeRepeatingColumn(m_values, m_payload);
    }
    [[nodiscard]] std::vector<std::byte>& payload() { return m_payload; }

private:
    template <class Field>
    void gather(Field field) {
        for (std::size_t i = 0; i < m_events.size(); ++i)
            m_values[i] = static_cast<std::int64_t>(field(m_events[i]));
    }
    std::span<const Event> m_events;
    std::vector<std::int64_t> m_values;
    std::vector<std::byte> m_payload;
};

/// Moves values of a column into a narrower field; remembers whether one did not fit.
class Narrow {
public:
    template <class Field>
    void store(std::int64_t value, Field& field) {
        field = static_cast<Field>(value);
        m_lost |= static_cast<std::int64_t>(field) ^ value;
    }
    void require(bool condition) { m_lost |= condition ? 0 : 1; }
    [[nodiscard]] bool fits() const { return m_lost == 0; }

private:
    std::int64_t m_lost = 0;
};

/// Runs `store(event, value)` over every event for the column that comes next in `in`.
template <std::size_t Columns>
class BlockReader {
public:
    bool open(ByteReader& in, std::size_t count) {
        m_count = count;
        for (ColumnReader& column : m_columns)
            if (!column.open(in, count)) return false;
        return true;
    }
    /// Loads the next block; its number of events, 0 at the end.
    std::size_t next() {
        const std::size_t size = std::min(kBlock, m_count - m_position);
        for (std::size_t c = 0; c < Columns; ++c) {
            if (m_columns[c].isConstant() && m_position != 0) continue;
            m_columns[c].read(std::span(m_values[c]).first(size));
        }
        m_position += size;
        return size;
    }
    [[nodiscard]] const std::int64_t* column(std::size_t c) const { return m_values[c].data(); }

private:
    std::array<ColumnReader, Columns> m_columns;
    std::array<std::array<std::int64_t, kBlock>, Columns> m_values;
    std::size_t m_count = 0;
    std::size_t m_position = 0;
};

}  // namespace shardscope::columns
