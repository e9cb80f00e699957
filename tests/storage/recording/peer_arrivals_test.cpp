// Arrivals that only the rows of other ranks tell.
#include "tests/storage/recording/collective_reading.h"
#include "tests/support/random_events.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

constexpr std::int32_t kRanks = 4;

class PeerArrivals : public test::CollectiveReading {
protected:
    void SetUp() override {
        test::SampleOptions options;
        options.ranks = kRanks;
        options.ranksPerHost = 2;
        options.steps = 4;
        ASSERT_TRUE(test::writeSampleRecording(m_path, options));
        m_reader = open();
    }

    std::unique_ptr<storage::RecordingReader> m_reader;
};

TEST_F(PeerArrivals, AreTheStartsOfAllRanksAndSharedByThem) {
    std::map<std::uint64_t, std::vector<CollectiveEvent>> bySequence;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
        for (const CollectiveEvent& event : collectives(*m_reader, rank, kAlways))
            bySequence[event.sequence].push_back(event);
    ASSERT_GT(bySequence.size(), 10u);
    for (const auto& [sequence, events] : bySequence) {
        ASSERT_EQ(events.size(), std::size_t{kRanks});
        std::vector<Timestamp> starts;
        for (const CollectiveEvent& event : events) starts.push_back(event.start);
        for (const CollectiveEvent& event : events) {
            EXPECT_EQ(event.arrivals, Arrivals(starts)) << sequence;
            EXPECT_TRUE(event.arrivals.sharesWith(events.front().arrivals));
        }
    }
}

TEST_F(PeerArrivals, AreTheSameWhateverWasReadBefore) {
    test::RandomEvents random(7);
    const auto whole = collectives(*m_reader, 1, kAlways);
    std::map<std::uint64_t, Arrivals> known;
    for (const CollectiveEvent& event : whole) known[event.sequence] = event.arrivals;
    const std::int64_t end = whole.back().end.ns;
    const auto reader = open();
    for (int round = 0; round < 200; ++round) {
        const std::int64_t begin = random.between(0, end);
        const auto rank = static_cast<std::uint32_t>(random.between(0, kRanks - 1));
        const TimeRange range{{begin}, {begin + random.between(1, end / 4)}};
        for (const CollectiveEvent& event : collectives(*reader, rank, range))
            ASSERT_EQ(event.arrivals, known[event.sequence]) << round;
    }
}

}  // namespace
}  // namespace shardscope
