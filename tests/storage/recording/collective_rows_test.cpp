// Collectives of a range, however the rank was read before.
#include "tests/storage/recording/collective_reading.h"
#include "tests/support/random_events.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

class CollectiveRows : public test::CollectiveReading {
protected:
    void SetUp() override {
        test::SampleOptions options;
        options.ranks = 2;
        options.steps = 120;
        ASSERT_TRUE(test::writeSampleRecording(m_path, options));
    }
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
