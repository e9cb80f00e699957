// Values as bytes and back, none of their members left out.
#include "storage/model/rank_facts.h"
#include "storage/recording/remote/calls.h"
#include "tests/support/random_events.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kBudget = std::size_t{64} << 20;

template <class T>
std::optional<T> again(const T& value) {
    columns::wire::Writer out;
    out.put(value);
    const auto bytes = out.take();
    T read{};
    columns::wire::Reader in(bytes, kBudget);
    in.get(read);
    return in.isWhole() ? std::optional(read) : std::nullopt;
}

TEST(Wire, EventsAreTheSameAgain) {
    test::RandomEvents random(1);
    for (const std::size_t count : {0, 1, 2, 1'000, 3'000}) {
        const auto spans = random.spans(count);
        EXPECT_TRUE(again(spans) == spans);
        const auto memory = random.memory(count);
        EXPECT_TRUE(again(memory) == memory);
        const auto counters = random.counters(count);
        EXPECT_TRUE(again(counters) == counters);
        const auto collectives = random.collectives(count);
        EXPECT_TRUE(again(collectives) == collectives);
        const auto flows = random.flows(count);
        EXPECT_TRUE(again(flows) == flows);
        EXPECT_TRUE(again(std::vector{flows, {}, flows}) == (std::vector{flows, {}, flows}));
        const auto instants = random.instants(count);
        EXPECT_TRUE(again(instants) == instants);
    }
}

TEST(Wire, RowsAndTablesAreTheSameAgain) {
    RecordingSummary summary;
    summary.run.id = std::string("a\0b", 3);
    summary.run.status = static_cast<RunStatus>(255);  // as of a damaged row
    summary.ranks.resize(2);
    summary.ranks[1].peakFlops = 1.5;
    summary.ranks[1].exitCode = -1;
    summary.detail.resize(1);
    summary.detail[0].range = {{4}, {5}};
    summary.detail[0].peak = MemoryPeak{{6}, {7}, {}};
    const auto read = again(summary);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->run.id, summary.run.id);
    EXPECT_EQ(read->run.status, summary.run.status);
    EXPECT_EQ(read->ranks[0].peakFlops, std::nullopt);
    EXPECT_EQ(read->ranks[1].peakFlops, 1.5);
    EXPECT_EQ(read->ranks[1].exitCode, -1);
    EXPECT_TRUE(read->detail == summary.detail);
}

TEST(Wire, WhatNobodyRecordsIsRefused) {
    SpanEvent span;
    span.phase = static_cast<Phase>(200);
    EXPECT_FALSE(again(span));
    span = {};
    span.duration = {-1};
    EXPECT_FALSE(again(span));
    span = {};
    span.start = {std::numeric_limits<std::int64_t>::max()};
    EXPECT_FALSE(again(span));
    MemoryEvent memory;
    memory.category = static_cast<MemoryCategory>(255);
    EXPECT_FALSE(again(memory)) << "it is the index of an array";
    RecordingSummary summary;
    summary.run.worldSize = -1;
    EXPECT_FALSE(again(summary));
    TableResult table;
    table.columns = {"a"};
    table.rows = {{"12x"}};
    table.types = {{TableResult::CellType::kInteger}};
    EXPECT_FALSE(again(table)) << "no number";
    table.rows = {{"12"}};
    EXPECT_TRUE(again(table));
    table.columns.push_back("b");
    EXPECT_FALSE(again(table)) << "a row too short";
    EXPECT_FALSE(again(EventsOfRank{{0}, {{0}, {std::numeric_limits<std::int64_t>::max()}}}));
}

TEST(Wire, ACountWithoutItsBytesTakesNoMemory) {
    // Constant columns: three numbers that stand for as many rows as one likes.
    std::vector<std::byte> bytes;
    columns::encodeColumn(std::array{std::int64_t{1} << 40}, bytes);
    for (int i = 0; i < 20; ++i) columns::encodeColumn(std::array{std::int64_t{0}}, bytes);
    std::vector<SpanEvent> spans;
    columns::wire::Reader in(bytes, kBudget);
    in.get(spans);
    EXPECT_FALSE(in.isWhole());
    EXPECT_TRUE(spans.empty());
}

/// Any bytes in the place of some of an answer's: read or refused, within the budget.
template <class T>
void expectToSurvive(const T& value, std::uint64_t seed) {
    test::RandomEvents random(seed);
    columns::wire::Writer out;
    out.put(value);
    const auto whole = out.take();
    int refused = 0;
    for (int i = 0; i < 2'000; ++i) {
        auto bytes = whole;
        for (std::int64_t flips = random.between(1, 8); flips > 0; --flips) {
            const auto at = static_cast<std::size_t>(
                random.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
            bytes[at] = static_cast<std::byte>(random.bits());
        }
        if (i % 5 == 0)
            bytes.resize(static_cast<std::size_t>(
                random.between(0, static_cast<std::int64_t>(bytes.size()))));
        T read{};
        columns::wire::Reader in(bytes, kBudget);
        in.get(read);
        refused += in.isWhole() ? 0 : 1;
    }
    EXPECT_GT(refused, 0);
}

TEST(Wire, SurvivesAnyBytes) {
    test::RandomEvents random(2);
    RankEvents events;
    events.phases = random.spans(50);
    events.collectives = random.collectives(20);
    expectToSurvive(events, 3);
    RecordingSummary summary;
    summary.ranks.resize(3);
    summary.lanes.resize(9);
    summary.lanes[4].name = "a name of a lane";
    expectToSurvive(summary, 4);
    TableResult table;
    table.columns = {"a", "b"};
    table.rows = {{"1", std::nullopt}, {"x", "2.5"}};
    using Type = TableResult::CellType;
    table.types = {{Type::kInteger, Type::kNull}, {Type::kText, Type::kReal}};
    expectToSurvive(table, 5);
    expectToSurvive(std::vector{random.flows(9), random.flows(3)}, 6);
    expectToSurvive(SpansInView{{{{0}, {1}}, {{1}, {1}}}, {{{0}, {100}}, {5}, {}}}, 7);
}

}  // namespace
}  // namespace shardscope::storage::remote
