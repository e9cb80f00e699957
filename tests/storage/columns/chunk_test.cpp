#include "storage/columns/chunk.h"

#include "storage/columns/crc32c.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace shardscope::columns {
namespace {

using test::FailsWith;
using test::IsOk;
using test::RandomEvents;

constexpr RankId kRank{7};

/// Decodes with whatever decoder the header names; true when the bytes were accepted.
bool accepted(std::span<const std::byte> bytes) {
    const bool spans = decodeSpans(bytes).has_value();
    const bool memory = decodeMemory(bytes).has_value();
    const bool counters = decodeCounters(bytes).has_value();
    const bool collectives = decodeCollectives(bytes).has_value();
    const bool flows = decodeFlows(bytes).has_value();
    const bool instants = decodeInstants(bytes).has_value();
    return spans || memory || counters || collectives || flows || instants;
}

std::vector<ChunkBytes> oneOfEachKind(RandomEvents& random, std::size_t count) {
    return {encodeSpans(kRank, random.spans(count)),
            encodeMemory(kRank, random.memory(count)),
            encodeCounters(kRank, random.counters(count)),
            encodeCollectives(kRank, random.collectives(count)),
            encodeFlows(kRank, random.flows(count)),
            encodeInstants(kRank, random.instants(count))};
}

TEST(Chunk, GivesBackRandomEventsOfEveryKind) {
    RandomEvents random(1);
    for (const std::size_t count : {1u, 2u, 3u, 100u, 1023u, 1024u, 1025u, 5000u}) {
        const auto spans = random.spans(count);
        EXPECT_EQ(decodeSpans(encodeSpans(kRank, spans)).value(), spans);
        const auto memory = random.memory(count);
        EXPECT_EQ(decodeMemory(encodeMemory(kRank, memory)).value(), memory);
        const auto counters = random.counters(count);
        EXPECT_EQ(decodeCounters(encodeCounters(kRank, counters)).value(), counters);
        const auto collectives = random.collectives(count);
        EXPECT_EQ(decodeCollectives(encodeCollectives(kRank, collectives)).value(), collectives);
        const auto flows = random.flows(count);
        EXPECT_EQ(decodeFlows(encodeFlows(kRank, flows)).value(), flows);
        const auto instants = random.instants(count);
        EXPECT_EQ(decodeInstants(encodeInstants(kRank, instants)).value(), instants);
    }
}

TEST(Chunk, GivesBackTheLargestNumberOfEvents) {
    RandomEvents random(2);
    const auto spans = random.spans(kMaxChunkEvents);
    auto decoded = decodeSpans(encodeSpans(kRank, spans));
    ASSERT_THAT(decoded, IsOk());
    EXPECT_EQ(*decoded, spans);
}

TEST(Chunk, KeepsExtremeValues) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 61;
    SpanEvent least;
    least.start = {-kLimit};
    least.step = {std::numeric_limits<std::int32_t>::min()};
    least.layer = {std::numeric_limits<std::int16_t>::min()};
    SpanEvent most;
    most.start = {kLimit};
    most.duration = {kLimit};
    most.lane = {std::numeric_limits<std::uint32_t>::max()};
    most.name = {std::numeric_limits<std::uint32_t>::max()};
    most.correlation = std::numeric_limits<std::uint64_t>::max();
    most.depth = 255;
    const std::vector<SpanEvent> events{least, most};
    EXPECT_EQ(decodeSpans(encodeSpans(kRank, events)).value(), events);

    std::vector<CounterEvent> counters;
    for (const double value : {-0.0, 0.0, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::denorm_min(), 1e300})
        counters.push_back({{0}, {1}, value});
    const auto decoded = decodeCounters(encodeCounters(kRank, counters)).value();
    EXPECT_EQ(decoded, counters);
    EXPECT_TRUE(std::signbit(decoded.front().value));
}

TEST(Chunk, OfMemoryWithoutArgumentsHasNoColumnForThem) {
    RandomEvents random(8);
    auto events = random.memory(500);
    for (MemoryEvent& event : events) event.arguments = {};
    const auto without = encodeMemory(kRank, events);
    // As every recording before 1.3 has it.
    EXPECT_EQ(decodeMemory(without).value(), events);
    events.back().arguments = {7};
    const auto with = encodeMemory(kRank, events);
    EXPECT_EQ(decodeMemory(with).value(), events);
    EXPECT_GT(with.size(), without.size());
}

TEST(Chunk, HeaderTellsKindRankBoundsAndLanes) {
    std::vector<SpanEvent> events(3);
    events[0] = {{10}, {90}, {4}, {}, {}, 0, kNoStep, kNoLayer, Phase::kNone, 0};
    events[1] = {{20}, {5}, {2}, {}, {}, 0, kNoStep, kNoLayer, Phase::kNone, 0};
    events[2] = {{30}, {5}, {4}, {}, {}, 0, kNoStep, kNoLayer, Phase::kNone, 0};
    auto header = decodeHeader(encodeSpans(kRank, events));
    ASSERT_THAT(header, IsOk());
    EXPECT_EQ(header->kind, EventKind::kSpan);
    EXPECT_EQ(header->rank, kRank);
    EXPECT_EQ(header->count, 3u);
    EXPECT_EQ(header->first, Timestamp{10});
    EXPECT_EQ(header->last, Timestamp{100});
    ASSERT_EQ(header->lanes.size(), 2u);
    EXPECT_EQ(header->lanes[0].lane, LaneId{2});
    EXPECT_EQ(header->lanes[1].count, 2u);
}

TEST(Chunk, RefusesEveryTruncation) {
    RandomEvents random(3);
    for (const ChunkBytes& chunk : oneOfEachKind(random, 20))
        for (std::size_t size = 0; size < chunk.size(); ++size)
            EXPECT_FALSE(accepted(std::span(chunk).first(size))) << size << " bytes";
}

TEST(Chunk, RefusesEveryFlippedBit) {
    RandomEvents random(4);
    for (ChunkBytes& chunk : oneOfEachKind(random, 20)) {
        for (std::size_t bit = 0; bit < chunk.size() * 8; ++bit) {
            const auto mask = std::byte{static_cast<unsigned char>(1u << (bit % 8))};
            chunk[bit / 8] ^= mask;
            EXPECT_FALSE(accepted(chunk)) << "bit " << bit;
            chunk[bit / 8] ^= mask;
        }
    }
}

TEST(Chunk, SurvivesHostileBytesWithAValidChecksum) {
    // The checksum keeps accidents out, not malice: change payload bytes and sign again.
    RandomEvents random(5);
    for (int round = 0; round < 2000; ++round) {
        auto chunks = oneOfEachKind(random, 8);
        ChunkBytes& chunk = chunks[static_cast<std::size_t>(round) % chunks.size()];
        const std::size_t lanes = decodeHeader(chunk).value().lanes.size();
        const std::size_t front = 36 + 8 * lanes;
        for (int change = 0; change < 3; ++change) {
            const auto at = random.between(4, static_cast<std::int64_t>(chunk.size()) - 1);
            chunk[static_cast<std::size_t>(at)] =
                std::byte{static_cast<unsigned char>(random.bits())};
        }
        const std::span<const std::byte> all(chunk);
        const std::uint32_t checksum =
            crc32c(all.subspan(front + 12), crc32c(all.first(front + 8)));
        std::memcpy(chunk.data() + front + 8, &checksum, 4);
        accepted(chunk);
    }
}

TEST(Chunk, NamesWhatIsWrong) {
    RandomEvents random(6);
    ChunkBytes chunk = encodeSpans(kRank, random.spans(10));
    EXPECT_THAT(decodeMemory(chunk), FailsWith("span chunk stands where one of kind memory"));
    chunk[4] = std::byte{9};
    EXPECT_THAT(decodeSpans(chunk), FailsWith("codec version 9"));
    EXPECT_THAT(decodeHeader(std::vector<std::byte>(100)), FailsWith("not an event chunk"));
}

TEST(Chunk, IsGivenToAnotherRank) {
    RandomEvents random(7);
    const auto spans = random.spans(100);
    ChunkBytes chunk = encodeSpans(kRank, spans);
    ASSERT_TRUE(giveTo(RankId{41}, chunk));
    EXPECT_EQ(decodeHeader(chunk)->rank, RankId{41});
    EXPECT_EQ(decodeSpans(chunk).value(), spans);

    // A damaged one stays damaged.
    chunk.back() ^= std::byte{1};
    EXPECT_THAT(giveTo(RankId{3}, chunk), FailsWith("fails its checksum"));
    EXPECT_THAT(decodeSpans(chunk), FailsWith("fails its checksum"));
}

TEST(Crc32c, MatchesItsCheckValue) {
    const std::string_view digits = "123456789";
    EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xE3069283u);
}

}  // namespace
}  // namespace shardscope::columns
