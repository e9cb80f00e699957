// What of a reader's answers travels, member by member, and what no honest side sends. Rows of
// tables are not here: they have their columns (storage/model/table.h).
//
// Functions stand beside their types, where wire.h finds them.
#pragma once

#include "storage/model/recording.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/wire.h"

#include <charconv>
#include <system_error>
#include <tuple>
#include <type_traits>

namespace shardscope {

constexpr auto wireMembers(std::type_identity<TimeRange>) {
    return std::tuple(&TimeRange::begin, &TimeRange::end);
}
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
constexpr auto wireMembers(std::type_identity<LaneAddress>) {
    return std::tuple(&LaneAddress::rank, &LaneAddress::lane);
}
constexpr auto wireMembers(std::type_identity<SpanEvent>) {
    using E = SpanEvent;
    return std::tuple(&E::start, &E::duration, &E::lane, &E::name, &E::arguments, &E::correlation,
                      &E::step, &E::layer, &E::phase, &E::depth);
}
constexpr auto wireMembers(std::type_identity<CollectiveEvent>) {
    using E = CollectiveEvent;
    return std::tuple(&E::operation, &E::dtype, &E::cause, &E::layer, &E::step, &E::group,
                      &E::sequence, &E::size, &E::algorithm, &E::protocol, &E::issue, &E::start,
                      &E::end, &E::arrivals);
}
constexpr auto wireMembers(std::type_identity<MemoryEvent>) {
    using E = MemoryEvent;
    return std::tuple(&E::time, &E::address, &E::size, &E::action, &E::category, &E::owner,
                      &E::step, &E::layer, &E::phase, &E::arguments);
}
constexpr auto wireMembers(std::type_identity<CounterEvent>) {
    return std::tuple(&CounterEvent::time, &CounterEvent::lane, &CounterEvent::value);
}
constexpr auto wireMembers(std::type_identity<InstantEvent>) {
    using E = InstantEvent;
    return std::tuple(&E::time, &E::lane, &E::name, &E::arguments, &E::step, &E::scope);
}
constexpr auto wireMembers(std::type_identity<FlowEvent>) {
    using E = FlowEvent;
    return std::tuple(&E::time, &E::lane, &E::id, &E::idText, &E::name, &E::category, &E::arguments,
                      &E::step, &E::point, &E::binding, &E::bound, &E::depth, &E::spanStart);
}
constexpr auto wireMembers(std::type_identity<MemoryPeak>) {
    return std::tuple(&MemoryPeak::time, &MemoryPeak::size, &MemoryPeak::byCategory);
}
/// A row with more than its columns.
constexpr auto wireMembers(std::type_identity<DetailFacts>) {
    using F = DetailFacts;
    return std::tuple(&F::rank, &F::first, &F::last, &F::range, &F::level, &F::reason, &F::removed,
                      &F::peak);
}
constexpr auto wireMembers(std::type_identity<LostRows>) {
    return std::tuple(&LostRows::table, &LostRows::written, &LostRows::found);
}
constexpr auto wireMembers(std::type_identity<EventCounts>) {
    using C = EventCounts;
    return std::tuple(&C::spans, &C::collectives, &C::memory, &C::counters, &C::flows,
                      &C::instants);
}
constexpr auto wireMembers(std::type_identity<RecordingSummary>) {
    using S = RecordingSummary;
    return std::tuple(&S::run, &S::hosts, &S::clocks, &S::ranks, &S::devices, &S::lanes, &S::steps,
                      &S::metrics, &S::memoryTheory, &S::diagnostics, &S::detail, &S::events,
                      &S::bounds, &S::fileSize, &S::chunkBytes, &S::lostRows, &S::complete);
}
constexpr auto wireMembers(std::type_identity<RankEvents>) {
    using E = RankEvents;
    return std::tuple(&E::rank, &E::phases, &E::collectives, &E::computeKernels,
                      &E::communicationKernels, &E::energy, &E::peakMemory, &E::peakTime,
                      &E::peakByCategory, &E::hasMemoryEvents);
}

/// What chunks hold lies within this, so that no difference of two overflows.
[[nodiscard]] constexpr bool isNear(std::int64_t ns) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 62;
    return ns >= -kLimit && ns <= kLimit - 1;
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
/// As readers of files leave out.
[[nodiscard]] constexpr bool isSound(const MemoryTheory& theory) {
    return isOne(theory.category);
}
[[nodiscard]] inline bool isSound(const RecordingSummary& summary) {
    return summary.run.worldSize >= 0 && summary.run.worldSize <= kMostRanks;
}

}  // namespace shardscope

namespace shardscope::storage {

constexpr auto wireMembers(std::type_identity<LaneSlice>) {
    using S = LaneSlice;
    return std::tuple(&S::range, &S::name, &S::count, &S::busy, &S::correlation, &S::layer,
                      &S::step, &S::phase, &S::depth, &S::arguments, &S::instant);
}
/// What of it is idle in the place of what is busy: nothing of a single event.
constexpr void takeApart(LaneSlice& slice) {
    slice.busy.ns =
        wireDifference(wireDifference(slice.range.end.ns, slice.range.begin.ns), slice.busy.ns);
}
constexpr void putTogether(LaneSlice& slice) {
    takeApart(slice);
}
constexpr auto wireMembers(std::type_identity<CounterSlice>) {
    using S = CounterSlice;
    return std::tuple(&S::range, &S::minimum, &S::maximum, &S::last);
}
constexpr auto wireMembers(std::type_identity<TableResult>) {
    return std::tuple(&TableResult::columns, &TableResult::rows, &TableResult::types);
}
constexpr auto lastOf(TableResult::CellType) {
    return TableResult::CellType::kText;
}

[[nodiscard]] constexpr bool isSound(const LaneSlice& slice) {
    return isNear(slice.range.begin.ns) && isNear(slice.range.end.ns) &&
           slice.range.begin <= slice.range.end && isOne(slice.phase);
}
[[nodiscard]] constexpr bool isSound(const CounterSlice& slice) {
    return isNear(slice.range.begin.ns) && isNear(slice.range.end.ns);
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

}  // namespace shardscope::storage
