// Collectives of a range, however the rank was read before.
#include "storage/recording/read/recording_reader.h"
#include "tests/support/random_events.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

constexpr TimeRange kAlways{{0}, {std::int64_t{1} << 60}};

class CollectiveRows : public testing::Test {
protected:
    void SetUp() override {
        test::SampleOptions options;
        options.ranks = 2;
        options.steps = 120;
        ASSERT_TRUE(test::writeSampleRecording(m_path, options));
    }
    [[nodiscard]] std::unique_ptr<storage::RecordingReader> open() const {
        auto reader = storage::openRecording(m_path);
        EXPECT_TRUE(reader);
        return std::move(*reader);
    }
    static std::vector<CollectiveEvent> collectives(storage::RecordingReader& reader,
                                                    std::uint32_t rank, TimeRange range) {
        auto events = reader.rankEvents({rank}, range);
        EXPECT_TRUE(events);
        return std::move(events->collectives);
    }

    test::TemporaryFolder m_folder;
    const std::string m_path = m_folder.file("run.sscope");
};

TEST_F(CollectiveRows, OfARangeAreThoseThatTouchIt) {
    const auto whole = collectives(*open(), 1, kAlways);
    ASSERT_GT(whole.size(), 1000u);
    const Timestamp begin = whole.front().start, end = whole.back().end;
    test::RandomEvents random(3);
    const auto reader = open();
    std::set<std::size_t> counts;
    for (int round = 0; round < 300; ++round) {
        const std::int64_t longest = round % 3 == 0 ? (end - begin).ns : (end - begin).ns / 50;
        const Timestamp from{random.between(begin.ns, end.ns)};
        const TimeRange range{from, from + Duration{random.between(1, longest)}};
        std::vector<std::pair<std::uint32_t, std::uint64_t>> expected, found;
        for (const CollectiveEvent& event : whole)
            if (event.start < range.end && event.end >= range.begin)
                expected.emplace_back(event.group, event.sequence);
        for (const CollectiveEvent& event : collectives(*reader, 1, range))
            found.emplace_back(event.group, event.sequence);
        ASSERT_EQ(found, expected) << round;
        counts.insert(found.size());
    }
    EXPECT_GT(counts.size(), 50u);
}

TEST_F(CollectiveRows, OfNoTimeAreNone) {
    const auto reader = open();
    for (int round = 0; round < 3; ++round)
        EXPECT_TRUE(collectives(*reader, 0, {{-100}, {-50}}).empty()) << round;
}

}  // namespace
}  // namespace shardscope
