// What lives where at a moment, read from memory snapshots of a made allocator, of a real one, and
// from our own recordings.
#include "profiler/questions/memory_moment.h"

#include "profiler/questions/question.h"
#include "storage/interchange/export.h"
#include "tests/profiler/questions/asking.h"
#include "tests/storage/interchange/kineto_samples.h"
#include "tests/support/allocator_snapshot.h"
#include "tests/support/formats.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace shardscope::questions {
namespace {

using test::AllocatorSnapshot;
using test::AllocatorState;
using test::Imported;
using test::IsOk;

constexpr RankId kRank{0};

void import(const AllocatorSnapshot& drawn, Imported& imported) {
    test::writeFile(imported.folder.file("made.pickle"), drawn.pickle);
    ASSERT_THAT(imported.import({imported.folder.file("made.pickle")}), IsOk());
}

std::vector<std::int64_t> freeSizes(const analysis::AddressSpace& space) {
    std::vector<std::int64_t> sizes;
    for (const auto& stretch : space.stretches)
        for (const auto& gap : stretch.free)
            sizes.push_back(static_cast<std::int64_t>(gap.end - gap.begin));
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

std::int64_t sum(const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

/// Every state that the allocator really had is what is read of that time.
void expectTruth(const test::SnapshotOptions& options) {
    const AllocatorSnapshot drawn = test::drawSnapshot(options);
    Imported imported;
    ASSERT_NO_FATAL_FAILURE(import(drawn, imported));
    for (const AllocatorState& state : drawn.states) {
        const auto moment = readMoment(*imported.reader, imported.summary, kRank, {state.timeNs});
        ASSERT_THAT(moment, IsOk());
        ASSERT_TRUE(moment->reserved) << moment->unknown;
        const std::string when =
            "seed " + std::to_string(options.seed) + ", at " + std::to_string(state.timeNs);
        ASSERT_EQ(std::ssize(moment->blocks), state.blocks) << when;
        std::int64_t requested = 0;
        for (const MemoryEvent& block : moment->blocks) requested += block.size.count;
        ASSERT_EQ(requested, state.requested) << when;
        ASSERT_EQ(moment->reserved->reserved.count, state.reserved) << when;
        ASSERT_EQ(moment->reserved->segments, state.segments) << when;
        ASSERT_EQ(moment->reserved->allocated.count, state.requested) << when;
        if (options.lostEntries == 0) {
            ASSERT_EQ(freeSizes(moment->space), state.free) << when;
        } else {  // what large blocks of before the history reach to is not known
            ASSERT_GE(moment->reserved->free.all.count, sum(state.free)) << when;
            ASSERT_LE(moment->reserved->free.all.count, sum(state.free) + (20 << 20)) << when;
        }
    }
}

TEST(MemoryMoment, IsWhatTheAllocatorHeld) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        ASSERT_NO_FATAL_FAILURE(expectTruth({.seed = seed}));
        ASSERT_NO_FATAL_FAILURE(expectTruth({.seed = seed, .expandable = true}));
    }
}

TEST(MemoryMoment, IsTrueWhereTheHistoryHasLostItsFront) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        ASSERT_NO_FATAL_FAILURE(expectTruth({.seed = seed, .lostEntries = 150}));
        ASSERT_NO_FATAL_FAILURE(
            expectTruth({.seed = seed, .expandable = true, .lostEntries = 150}));
    }
}

TEST(MemoryMoment, BlocksOfBeforeTheHistoryHaveNoBeginning) {
    const AllocatorSnapshot drawn = test::drawSnapshot({.seed = 2, .lostEntries = 200});
    Imported imported;
    ASSERT_NO_FATAL_FAILURE(import(drawn, imported));
    const auto first = readMoment(*imported.reader, imported.summary, kRank, {0});
    ASSERT_THAT(first, IsOk());
    ASSERT_GT(first->blocks.size(), 10u);
    const auto unknown = std::count(first->startsKnown.begin(), first->startsKnown.end(), false);
    EXPECT_GE(unknown, std::ssize(first->blocks) - 1) << "all but what the first entry allocates";
    const auto last =
        readMoment(*imported.reader, imported.summary, kRank, imported.summary.bounds.end);
    ASSERT_THAT(last, IsOk());
    for (std::size_t i = 0; i < last->blocks.size(); ++i)
        EXPECT_TRUE(last->startsKnown[i] || last->blocks[i].time == Timestamp{0});
}

TEST(MemoryMoment, StacksAreThoseOfTheSnapshot) {
    Imported imported;
    ASSERT_NO_FATAL_FAILURE(import(test::drawSnapshot(), imported));
    const auto moment =
        readMoment(*imported.reader, imported.summary, kRank, imported.summary.bounds.end);
    ASSERT_THAT(moment, IsOk());
    ASSERT_FALSE(moment->blocks.empty());
    const auto stack = readStack(*imported.reader, kRank, moment->blocks.front().arguments);
    ASSERT_EQ(stack.size(), 2u);
    EXPECT_EQ(stack[0].name, "at::empty_cuda");
    EXPECT_EQ(stack[0].place, "") << "?? is no file";
    EXPECT_TRUE(stack[1].place.starts_with("model.py:10"));
    EXPECT_TRUE(readStack(*imported.reader, kRank, StringId{}).empty());
}

/// When each was freed, by looking at every event.
std::vector<std::optional<Timestamp>> naiveEnds(storage::RecordingReader& reader, RankId rank,
                                                const std::vector<MemoryEvent>& blocks,
                                                Timestamp time) {
    const auto events = reader.memoryEvents(rank, {kBeginningOfTime, {std::int64_t{1} << 61}});
    std::vector<std::optional<Timestamp>> ends;
    for (const MemoryEvent& block : blocks) {
        ends.emplace_back();
        for (const MemoryEvent& event : *events)
            if (event.time > time && event.address == block.address && !ends.back())
                ends.back() = event.time;
    }
    return ends;
}

TEST(MemoryMoment, EndsAreTheFreesThatFollow) {
    const AllocatorSnapshot drawn = test::drawSnapshot({.seed = 9});
    Imported imported;
    ASSERT_NO_FATAL_FAILURE(import(drawn, imported));
    for (const std::size_t at :
         {std::size_t{0}, drawn.states.size() / 2, drawn.states.size() - 1}) {
        const Timestamp time{drawn.states[at].timeNs};
        const auto blocks = *imported.reader->liveMemory(kRank, time);
        const auto ends = readBlockEnds(*imported.reader, imported.summary, kRank, blocks, time);
        ASSERT_THAT(ends, IsOk());
        EXPECT_EQ(*ends, naiveEnds(*imported.reader, kRank, blocks, time));
    }
}

TEST(MemoryMoment, FreeBlocksOfARealSnapshotAreThoseThatItLists) {
    const char* path = SHARDSCOPE_SHARED_TRACES "/torch_memory_snapshot_inference.pickle";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the sample " << path << " is not here";
    Imported imported;
    ASSERT_THAT(imported.import({path}), IsOk());
    const auto moment =
        readMoment(*imported.reader, imported.summary, kRank, imported.summary.bounds.end);
    ASSERT_THAT(moment, IsOk());
    ASSERT_TRUE(moment->reserved);
    EXPECT_EQ(moment->reserved->segments, 98);
    const auto listed = imported.reader->query(
        "SELECT coalesce(arguments ->> 'size', 0) FROM instants WHERE name = 'block'"
        " AND arguments ->> 'state' = 'inactive' ORDER BY 1");
    ASSERT_THAT(listed, IsOk());
    std::vector<std::int64_t> sizes;
    for (const auto& row : listed->rows) sizes.push_back(std::stoll(*row[0]));
    EXPECT_FALSE(sizes.empty());
    EXPECT_EQ(freeSizes(moment->space), sizes);
}

/// What is read at 3/4 of what a recording was exported to, and imported from where it is a trace.
void readExported(storage::RecordingReader& reader, const char* format,
                  std::optional<TimeRange> range, Result<MemoryMoment>& moment) {
    const test::TemporaryFolder folder;
    interchange::ExportOptions options;
    options.output = folder.file(format);
    options.range = range;
    ASSERT_THAT(interchange::exportAs(format, reader, options), IsOk());
    std::string path = options.output;
    if (format != std::string_view("sscope")) {
        interchange::ImportOptions in;
        in.output = path = folder.file("again.sscope");
        ASSERT_THAT(interchange::importTraces({options.output}, in), IsOk());
    }
    const auto again = storage::openRecording(path);
    ASSERT_THAT(again, IsOk());
    const auto summary = *(*again)->summary();
    const TimeRange bounds = summary.bounds;
    moment = readMoment(**again, summary, kRank, {bounds.begin.ns + bounds.duration().ns * 3 / 4});
    ASSERT_THAT(moment, IsOk());
    ASSERT_FALSE(moment->blocks.empty());
}

TEST(MemoryMoment, OfAPartThatEndsEarlierCannotTellSegments) {
    const AllocatorSnapshot drawn = test::drawSnapshot();
    Imported imported;
    ASSERT_NO_FATAL_FAILURE(import(drawn, imported));
    const TimeRange bounds = imported.summary.bounds;
    const Timestamp quarter{bounds.begin.ns + bounds.duration().ns / 4};
    const Timestamp half{bounds.begin.ns + bounds.duration().ns / 2};
    Result<MemoryMoment> moment;
    ASSERT_NO_FATAL_FAILURE(
        readExported(*imported.reader, "sscope", TimeRange{quarter, half}, moment));
    EXPECT_FALSE(moment->reserved);
    EXPECT_NE(moment->unknown.find("ends before"), std::string::npos) << moment->unknown;
    const auto unknown = std::count(moment->startsKnown.begin(), moment->startsKnown.end(), false);
    EXPECT_GT(unknown, 0) << "what was alive when the part begins";
    EXPECT_LT(unknown, std::ssize(moment->startsKnown));
}

class OwnMoment : public Questions {};

TEST_F(OwnMoment, ExportedAsASnapshotTellsNoSegments) {
    record();
    Result<MemoryMoment> moment;
    ASSERT_NO_FATAL_FAILURE(readExported(*m_reader, "memory-snapshot", std::nullopt, moment));
    EXPECT_FALSE(moment->reserved) << "it lists runs of blocks of its end as segments";
    EXPECT_NE(moment->unknown.find("in no listed segment"), std::string::npos) << moment->unknown;
    for (const auto& stretch : moment->space.stretches) EXPECT_FALSE(stretch.reserved);
}

TEST_F(OwnMoment, HasBlocksAndNoSegments) {
    record();
    const auto worst = *m_reader->rankEvents(kRank, m_summary.bounds);
    const auto moment = readMoment(*m_reader, m_summary, kRank, worst.peakTime);
    ASSERT_THAT(moment, IsOk());
    EXPECT_FALSE(moment->reserved);
    EXPECT_NE(moment->unknown.find("snapshots"), std::string::npos);
    Bytes sum;
    for (const MemoryEvent& block : moment->blocks) sum += block.size;
    EXPECT_EQ(sum, worst.peakMemory);
    std::size_t placed = 0;
    for (const auto& stretch : moment->space.stretches) placed += stretch.blocks.size();
    EXPECT_EQ(placed, moment->blocks.size());
    const auto ends = readBlockEnds(*m_reader, m_summary, kRank, moment->blocks, worst.peakTime);
    ASSERT_THAT(ends, IsOk());
    EXPECT_EQ(*ends, naiveEnds(*m_reader, kRank, moment->blocks, worst.peakTime));
}

}  // namespace
}  // namespace shardscope::questions
