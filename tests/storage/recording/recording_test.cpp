#include "storage/recording/recording_reader.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

using storage::openRecording;
using test::IsOk;

TEST(Recording, GivesBackWhatWasWritten) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path), IsOk());
    auto reader = openRecording(path);
    ASSERT_THAT(reader, IsOk());
    auto summary = (*reader)->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_TRUE(summary->complete);
    EXPECT_EQ(summary->ranks.size(), 2u);
    EXPECT_EQ(summary->steps.size(), 20u);
    EXPECT_EQ(summary->run.strategy, "zero3");
    EXPECT_EQ(summary->events.total(), summary->ranks[0].emitted + summary->ranks[1].emitted);
    auto events = (*reader)->rankEvents({0}, summary->bounds);
    ASSERT_THAT(events, IsOk());
    EXPECT_TRUE(events->hasMemoryEvents);
    EXPECT_EQ(events->collectives.size(), summary->events.collectives / 2);
}

}  // namespace
}  // namespace shardscope
