// How some values travel in fewer bytes, and what no honest side sends. What else travels of
// questions and answers is all of their members; of rows their columns.
//
// Functions stand beside their types, where storage/model/shape.h finds them.
#pragma once

#include "storage/columns/wire.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording_tables.h"
#include "storage/recording/read/questions.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace shardscope {

/// Modulo 2^64, so that no pair of values overflows.
[[nodiscard]] constexpr std::int64_t wireDifference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
/// Its length in the place of its end.
constexpr void takeApart(TimeRange& range) {
    range.end.ns = wireDifference(range.end.ns, range.begin.ns);
}
constexpr void putTogether(TimeRange& range) {
    range.end.ns = wireDifference(range.end.ns, wireDifference(0, range.begin.ns));
}

/// What chunks hold lies within this, so that no difference of two overflows.
[[nodiscard]] constexpr bool isNear(std::int64_t ns) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 62;
    return ns >= -kLimit && ns <= kLimit - 1;
}
[[nodiscard]] constexpr bool isNear(const TimeRange& range) {
    return isNear(range.begin.ns) && isNear(range.end.ns);
}
[[nodiscard]] constexpr bool isSound(const SpanEvent& event) {
    return isNear(event.start.ns) && isNear(event.duration.ns) && event.duration.ns >= 0 &&
           isNear(event.start.ns / 2 + event.duration.ns / 2) && isOne(event.phase);
}
[[nodiscard]] constexpr bool isSound(const CollectiveEvent& event) {
    return isOne(event.operation) && isOne(event.dtype) && isOne(event.cause);
}
[[nodiscard]] constexpr bool isSound(const MemoryEvent& event) {
    return isNear(event.time.ns) && isNear(event.size.count) && isOne(event.action) &&
           isOne(event.category) && isOne(event.phase);
}
[[nodiscard]] constexpr bool isSound(const CounterEvent& event) {
    return isNear(event.time.ns);
}
[[nodiscard]] constexpr bool isSound(const InstantEvent& event) {
    return isNear(event.time.ns) && isOne(event.scope);
}
[[nodiscard]] constexpr bool isSound(const FlowEvent& event) {
    return isNear(event.time.ns) && isNear(event.spanStart.ns) && isOne(event.point) &&
           isOne(event.binding);
}
[[nodiscard]] inline bool isSound(const RecordingSummary& summary) {
    // Readers of files leave out what theory says of no category.
    return summary.run.worldSize >= 0 && summary.run.worldSize <= kMostRanks &&
           std::all_of(summary.memoryTheory.begin(), summary.memoryTheory.end(),
                       [](const MemoryTheory& theory) { return isOne(theory.category); });
}

}  // namespace shardscope

namespace shardscope::storage {

/// What of it is idle in the place of what is busy: nothing of a single event.
constexpr void takeApart(LaneSlice& slice) {
    slice.busy.ns =
        wireDifference(wireDifference(slice.range.end.ns, slice.range.begin.ns), slice.busy.ns);
}
constexpr void putTogether(LaneSlice& slice) {
    takeApart(slice);
}

[[nodiscard]] constexpr bool isSound(const LaneSlice& slice) {
    return isNear(slice.range) && slice.range.begin <= slice.range.end && isOne(slice.phase);
}
[[nodiscard]] constexpr bool isSound(const CounterSlice& slice) {
    return isNear(slice.range);
}
[[nodiscard]] inline bool isSound(const std::optional<std::string>& cell,
                                  TableResult::CellType type) {
    using Type = TableResult::CellType;
    if (!cell.has_value() || type == Type::kNull) return !cell.has_value() && type == Type::kNull;
    if (type == Type::kText || type == Type::kReal) return true;
    std::int64_t number = 0;
    const char* end = cell->data() + cell->size();
    const auto parsed = std::from_chars(cell->data(), end, number);
    return type == Type::kInteger && parsed.ec == std::errc{} && parsed.ptr == end;
}
[[nodiscard]] inline bool isSound(const TableResult& table) {
    if (table.rows.size() != table.types.size()) return false;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        if (table.rows[row].size() != table.columns.size() ||
            table.types[row].size() != table.columns.size())
            return false;
        for (std::size_t cell = 0; cell < table.columns.size(); ++cell)
            if (!isSound(table.rows[row][cell], table.types[row][cell])) return false;
    }
    return true;
}

/// Times of which sums and differences do not overflow.
template <class Asked>
requires requires(const Asked& asked, typename Asked::Answer) {
    asked.range;
}
[[nodiscard]] constexpr bool isSound(const Asked& asked) {
    return isNear(asked.range);
}
template <class Asked>
requires requires(const Asked& asked, typename Asked::Answer) {
    asked.view;
}
[[nodiscard]] constexpr bool isSound(const Asked& asked) {
    return isNear(asked.view.range);
}
[[nodiscard]] constexpr bool isSound(const LiveMemory& asked) {
    return isNear(asked.time.ns);
}
/// Its generation stays, as the next one's: each side has its own.
[[nodiscard]] inline FieldsOf<SqlQuery> fieldsOf(Of<SqlQuery>) {
    return {{"sql", &SqlQuery::sql}, {"mostRows", &SqlQuery::mostRows}};
}
[[nodiscard]] inline FieldsOf<View> fieldsOf(Of<View>) {
    return {{"range", &View::range}, {"resolution", &View::resolution}};
}

}  // namespace shardscope::storage
