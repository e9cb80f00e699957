#include "engine/launch/tasks/processor_set.h"

#include <gmock/gmock.h>

namespace shardscope::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ProcessorSet, IsWrittenAsTheKernelWritesIt) {
    EXPECT_EQ(toText({}), "");
    EXPECT_EQ(toText({3}), "3");
    EXPECT_EQ(toText({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    for (const ProcessorSet& set : {ProcessorSet{}, {3}, {0, 1, 2, 3, 8, 10, 11}})
        EXPECT_EQ(processorsOf(toText(set)), set);
}

TEST(ProcessorSet, WhatIsNoListIsEmpty) {
    EXPECT_THAT(processorsOf("0-1,5"), ElementsAre(0, 1, 5));
    for (const char* text : {"", ",", "1,", "a", "1-", "-1", "0-99999999", "1 2", "3-2"})
        EXPECT_THAT(processorsOf(text), IsEmpty()) << text;
}

TEST(ProcessorSet, TheProcessGoesOverToOthers) {
    const ProcessorSet all = ownProcessors();
    ASSERT_FALSE(all.empty());
    useProcessors({*all.begin()});
    EXPECT_THAT(ownProcessors(), ElementsAre(*all.begin()));
    useProcessors({});
    EXPECT_THAT(ownProcessors(), ElementsAre(*all.begin()));
    useProcessors(all);
    EXPECT_EQ(ownProcessors(), all);
}

}  // namespace
}  // namespace shardscope::launch
