// What became of the events that ranks counted.
#include "storage/model/event_account.h"

#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

RecordingSummary summaryOf(std::uint64_t emitted, std::uint64_t dropped, std::uint64_t stored,
                           std::uint64_t removed) {
    RecordingSummary summary;
    summary.ranks.resize(2);
    summary.ranks[0].emitted = emitted;
    summary.ranks[1].dropped = dropped;
    summary.events.spans = stored;
    summary.detail.resize(2);
    summary.detail[0].removed = removed;
    return summary;
}

TEST(EventAccount, AddsUp) {
    const EventAccount account = eventAccount(summaryOf(100, 7, 60, 5));
    EXPECT_EQ(account.emitted, 100u);
    EXPECT_EQ(account.lost, 28u);
    EXPECT_EQ(account.emitted, account.stored + account.removed + account.dropped + account.lost);
}

/// It spoke last before its last events.
TEST(EventAccount, OfARankThatStoredMoreThanItHadCountedLacksNothing) {
    EXPECT_EQ(eventAccount(summaryOf(100, 7, 120, 5)).lost, 0u);
}

/// What one stored beyond its count does not make up for what another lacks.
TEST(EventAccount, IsOfEachRank) {
    RecordingSummary summary = summaryOf(100, 7, 60, 5);
    summary.uncounted = 20;
    const EventAccount account = eventAccount(summary);
    EXPECT_EQ(account.lost, 48u);
    EXPECT_EQ(account.emitted, account.stored - account.uncounted + account.removed +
                                   account.dropped + account.lost);
}

}  // namespace
}  // namespace shardscope
