// The emulation's threads themselves: barriers, order, and a barrier that not all come to.
#include "tests/support/fibers.h"

#include <gtest/gtest.h>

#include <vector>

namespace shardscope::testing {
namespace {

TEST(Fibers, PassABarrierTogether) {
    for (const bool backwards : {false, true}) {
        Fibers::Barrier barrier(5);
        std::vector<unsigned> arrived, passed;
        unsigned current = 0;
        Fibers::run(
            5,
            [&](unsigned fiber) {
                EXPECT_EQ(current, fiber);
                arrived.push_back(fiber);
                Fibers::wait(barrier);
                EXPECT_EQ(current, fiber) << "said again when it goes on";
                EXPECT_EQ(arrived.size(), 5u);
                Fibers::wait(barrier);
                passed.push_back(fiber);
            },
            [&](unsigned fiber) { current = fiber; }, backwards);
        const std::vector<unsigned> order =
            backwards ? std::vector<unsigned>{4, 3, 2, 1, 0} : std::vector<unsigned>{0, 1, 2, 3, 4};
        EXPECT_EQ(arrived, order);
        EXPECT_EQ(passed.size(), 5u);
    }
}

TEST(Fibers, SomeMayEndWhileOthersMeet) {
    Fibers::Barrier three(3);
    unsigned ended = 0;
    Fibers::run(
        4,
        [&](unsigned fiber) {
            for (int round = 0; round < 100 && fiber != 2; ++round) Fibers::wait(three);
            ++ended;
        },
        [](unsigned) {});
    EXPECT_EQ(ended, 4u);
}

TEST(FibersDeathTest, ABarrierThatNotAllReachEndsTheProgram) {
    Fibers::Barrier barrier(3);
    EXPECT_DEATH(Fibers::run(
                     3,
                     [&](unsigned fiber) {
                         if (fiber != 1) Fibers::wait(barrier);
                     },
                     [](unsigned) {}),
                 "wait for others that do not come");
}

}  // namespace
}  // namespace shardscope::testing
