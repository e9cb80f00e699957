// Ranks whose programs part are told who asks for what, whatever the kind of communicator.
#include "engine/comm/mesh.h"
#include "tests/engine/comm/rank_errors.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

using comm::Communicator;
using comm::SymmetricBuffer;
using testing::AllOf;
using testing::HasSubstr;

struct Kind {
    const char* name;
    std::vector<std::string> (*errors)(int ranks, const test::RankCall& call);
};

class Mismatch : public testing::TestWithParam<Kind> {};

std::vector<Kind> kinds() {
    std::vector<Kind> all{{"Direct", [](int ranks, const test::RankCall& call) {
                               return test::directErrors(ranks, call);
                           }}};
    if (comm::hasGloo()) {
        all.push_back({"Gloo", [](int ranks, const test::RankCall& call) {
                           return test::glooErrors(ranks, call);
                       }});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mismatch, testing::ValuesIn(kinds()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Mismatch, OfSizeIsNamedOnEveryRank) {
    const auto errors = GetParam().errors(3, [](Communicator& c) {
        c.barrier({}).wait();
        const SymmetricBuffer shard = c.allocate(c.rank() == 2 ? 32 : 16, DataType::kFloat32);
        std::vector<float> out(96);
        c.allGather(shard, out.data(), {}).wait();
    });
    for (const int rank : {0, 1}) {
        EXPECT_THAT(errors[static_cast<std::size_t>(rank)],
                    AllOf(HasSubstr("collective 2: rank " + std::to_string(rank) +
                                    " asks for all-gather of 192 bytes of fp32"),
                          HasSubstr("rank 2 for all-gather of 384 bytes of fp32")));
    }
    EXPECT_THAT(errors[2], HasSubstr("rank 2 asks for all-gather of 384 bytes"));
}

TEST_P(Mismatch, OfTypeIsNamed) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        // As many bytes.
        const SymmetricBuffer buffer =
            c.rank() == 0 ? c.allocate(16, DataType::kFloat32) : c.allocate(32, DataType::kFloat16);
        c.allReduce(buffer, {}).wait();
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 0 asks for all-reduce of 64 bytes of fp32, rank 1 for "
                                     "all-reduce of 64 bytes of fp16"));
    EXPECT_THAT(errors[1], HasSubstr("rank 1 asks for all-reduce of 64 bytes of fp16, rank 0 for "
                                     "all-reduce of 64 bytes of fp32"));
}

TEST_P(Mismatch, OfKindOrOrderIsNamed) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        const SymmetricBuffer shard = c.allocate(16, DataType::kFloat32);
        std::vector<float> out(32);
        if (c.rank() == 0)
            c.allGather(shard, out.data(), {Cause::kDemand, LayerIndex{1}, 0}).wait();
        c.barrier({}).wait();
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 0 asks for all-gather of 128 bytes of fp32, rank 1 for "
                                     "barrier"));
    EXPECT_THAT(errors[1], HasSubstr("rank 1 asks for barrier"));
}

TEST_P(Mismatch, OfRootAndOfReductionIsNamed) {
    auto errors = GetParam().errors(2, [](Communicator& c) {
        c.broadcast(c.allocate(16, DataType::kFloat32), c.rank(), {}).wait();
    });
    EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 0 asks for broadcast of 64 bytes of fp32 from "
                                           "rank 0"),
                                 HasSubstr("from rank 1")));
    errors = GetParam().errors(2, [](Communicator& c) {
        std::array<double, 2> values{};
        c.allReduceSmall(values, c.rank() == 0 ? comm::Reduction::kSum : comm::Reduction::kMax, {})
            .wait();
    });
    EXPECT_THAT(errors[1], AllOf(HasSubstr("the largest, rank 0 for"), HasSubstr("the sum")));
}

TEST_P(Mismatch, OfCauseAndLayerIsNone) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        c.barrier({c.rank() == 0 ? Cause::kStart : Cause::kStop,
                   LayerIndex{static_cast<std::int16_t>(c.rank())}, c.rank()})
            .wait();
    });
    EXPECT_THAT(errors, testing::Each(std::string()));
}

TEST_P(Mismatch, BetweenMessageAndCollectiveIsNamed) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        const SymmetricBuffer buffer = c.allocate(16, DataType::kFloat32);
        if (c.rank() == 0) {
            c.barrier({}).wait();
        } else {
            c.send(buffer, 0, {}).wait();
        }
    });
    EXPECT_THAT(errors[0],
                HasSubstr("rank 0 asks for barrier of 0 bytes of byte, rank 1 for send of 64 bytes "
                          "of fp32 to rank 0"));
    EXPECT_THAT(errors[1], HasSubstr("rank 1 asks for send of 64 bytes of fp32 to rank 0, rank 0 "
                                     "for barrier"));
}

TEST_P(Mismatch, OfTwoThatBothReceiveIsNamed) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        c.receive(c.allocate(16, DataType::kFloat32), 1 - c.rank(), {}).wait();
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 0 asks for receive of 64 bytes of fp32 from rank 1, "
                                     "rank 1 for receive"));
    EXPECT_THAT(errors[1], HasSubstr("rank 1 asks for receive"));
}

TEST_P(Mismatch, OfAMessagesSizeIsNamed) {
    const auto errors = GetParam().errors(2, [](Communicator& c) {
        if (c.rank() == 0) {
            c.send(c.allocate(16, DataType::kFloat32), 1, {}).wait();
        } else {
            c.receive(c.allocate(8, DataType::kFloat32), 0, {}).wait();
        }
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 1 for receive of 32 bytes"));
    EXPECT_THAT(errors[1], HasSubstr("rank 0 for send of 64 bytes"));
}

TEST_P(Mismatch, OfGroupsIsNamed) {
    const auto errors = GetParam().errors(3, [](Communicator& c) {
        const std::vector<int> all{0, 1, 2}, some{0, 1};
        static_cast<void>(c.split(c.rank() == 0 ? some : all, 5));
    });
    EXPECT_THAT(errors[0], HasSubstr("rank 0 asks for a split into group 5"));
    EXPECT_THAT(errors[1], HasSubstr("rank 1 asks for a split into group 5"));
}

TEST_P(Mismatch, InsideAGroupNamesTheGroupAndTheRanksOfTheRun) {
    const auto errors = GetParam().errors(4, [](Communicator& c) {
        const std::vector<int> upper{2, 3}, lower{0, 1};
        const auto part = c.split(c.rank() < 2 ? lower : upper, c.rank() < 2 ? 1 : 2);
        const std::size_t n = c.rank() == 3 ? 8 : 4;
        part->allReduce(part->allocate(n, DataType::kFloat32), {}).wait();
    });
    EXPECT_EQ(errors[0], "");
    EXPECT_EQ(errors[1], "");
    EXPECT_THAT(errors[2], HasSubstr("collective 1 in group 2: rank 2 asks for all-reduce of 16 "
                                     "bytes of fp32, rank 3 for all-reduce of 32 bytes"));
}

TEST_P(Mismatch, TypesThatHaveNoSumAreRefused) {
    const auto errors = GetParam().errors(
        2, [](Communicator& c) { c.allReduce(c.allocate(4, DataType::kInt64), {}).wait(); });
    EXPECT_THAT(errors[0], HasSubstr("takes fp32, bf16 or fp16, not int64"));
}

using comm::WaitWatch;
using std::chrono::milliseconds;

/// What was told so far, and a way to wait for more.
class Told {
public:
    WaitWatch::Tell tell() {
        return [this](int rank) {
            const std::lock_guard lock(m_mutex);
            m_ranks.push_back(rank);
            m_more.notify_all();
        };
    }
    std::vector<int> first(std::size_t count) {
        std::unique_lock lock(m_mutex);
        m_more.wait(lock, [&] { return m_ranks.size() >= count; });
        return m_ranks;
    }
    std::vector<int> all() {
        const std::lock_guard lock(m_mutex);
        return m_ranks;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_more;
    std::vector<int> m_ranks;
};

TEST(WaitWatch, TellsOfALongWaitAndOfItsEnd) {
    Told told;
    WaitWatch watch(milliseconds(10), told.tell());
    {
        const auto waiting = watch.waitsFor(3);
        EXPECT_TRUE(waiting);
        EXPECT_THAT(told.first(1), testing::ElementsAre(3));
    }
    EXPECT_THAT(told.first(2), testing::ElementsAre(3, WaitWatch::kNoRank));
    const auto again = watch.waitsFor(5);
    EXPECT_THAT(told.first(3), testing::ElementsAre(3, WaitWatch::kNoRank, 5));
}

TEST(WaitWatch, TellsOfTheLongestOfSeveral) {
    Told told;
    WaitWatch watch(milliseconds(10), told.tell());
    auto first = watch.waitsFor(1);
    told.first(1);
    const auto second = watch.waitsFor(2);
    { const auto gone = std::move(first); }
    // Whatever lies between: then it is the other's turn.
    for (std::size_t count = 2;; ++count)
        if (told.first(count).back() == 2) break;
    EXPECT_EQ(told.all().front(), 1);
}

TEST(WaitWatch, KeepsSilentAboutShortWaitsAndEndsAtOnce) {
    Told told;
    {
        WaitWatch watch(std::chrono::hours(1), told.tell());
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(watch.waitsFor(i));
        std::vector<WaitWatch::Waiting> many;
        for (int i = 0; i < 100; ++i) many.push_back(watch.waitsFor(i));
        EXPECT_TRUE(many.front());
        EXPECT_FALSE(many.back()) << "more at once than it looks after";
        many.clear();
        EXPECT_TRUE(watch.waitsFor(1)) << "there is room again";
    }
    EXPECT_THAT(told.all(), testing::IsEmpty());
}

}  // namespace
}  // namespace shardscope
