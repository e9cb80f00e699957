// Ranks that measure collectives: which are told as what, that a wrong result never passes, and
// what happens to sizes without memory, to slow machines and to whoever wants to stop.
#include "engine/worker/measuring/collective_sweep.h"

#include "tests/engine/torch/rank_threads.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace shardscope::worker {
namespace {

using run::MeasurementPlan;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<CollectiveOp> kEvery{CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
                                       CollectiveOp::kAllReduce, CollectiveOp::kBroadcast,
                                       CollectiveOp::kAllToAll};

MeasurementPlan planOf(std::vector<CollectiveOp> operations, std::vector<Bytes> sizes) {
    MeasurementPlan plan;
    plan.operations = std::move(operations);
    plan.sizes = std::move(sizes);
    plan.rounds = 3;
    plan.warmup = 2;
    return plan;
}

/// Hands everything on to a communicator, but for what a test changes. Counts what counts.
class Between final : public comm::Communicator {
public:
    explicit Between(comm::Communicator& inner) : m_inner(inner) {}

    std::function<void(CollectiveOp, void*)> spoil;  ///< called when an operation is done
    std::map<std::pair<CollectiveOp, Cause>, int> asked;

    int rank() const override { return m_inner.rank(); }
    int size() const override { return m_inner.size(); }
    comm::SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return m_inner.allocate(count, dtype);
    }
    comm::Work allGather(const comm::SymmetricBuffer& shard, void* out,
                         comm::CollectiveTag tag) override {
        return done(CollectiveOp::kAllGather, m_inner.allGather(shard, out, tag), out, tag);
    }
    comm::Work allGatherInPlace(const comm::SymmetricBuffer& whole,
                                comm::CollectiveTag tag) override {
        return m_inner.allGatherInPlace(whole, tag);
    }
    comm::Work reduceScatter(const comm::SymmetricBuffer& full, float* out,
                             comm::Accumulate accumulate, comm::CollectiveTag tag) override {
        return done(CollectiveOp::kReduceScatter, m_inner.reduceScatter(full, out, accumulate, tag),
                    out, tag);
    }
    comm::Work allReduce(const comm::SymmetricBuffer& buffer, comm::CollectiveTag tag) override {
        return done(CollectiveOp::kAllReduce, m_inner.allReduce(buffer, tag), buffer.local, tag);
    }
    comm::Work allReduceSmall(std::span<double> values, comm::Reduction reduction,
                              comm::CollectiveTag tag) override {
        EXPECT_EQ(tag.cause, Cause::kStart);
        return m_inner.allReduceSmall(values, reduction, tag);
    }
    comm::Work broadcast(const comm::SymmetricBuffer& buffer, int root,
                         comm::CollectiveTag tag) override {
        return done(CollectiveOp::kBroadcast, m_inner.broadcast(buffer, root, tag), buffer.local,
                    tag);
    }
    comm::Work allToAll(const comm::SymmetricBuffer& send, void* out,
                        comm::CollectiveTag tag) override {
        return done(CollectiveOp::kAllToAll, m_inner.allToAll(send, out, tag), out, tag);
    }
    comm::Work send(const comm::SymmetricBuffer& buffer, int to, comm::CollectiveTag tag) override {
        return m_inner.send(buffer, to, tag);
    }
    comm::Work receive(const comm::SymmetricBuffer& buffer, int from,
                       comm::CollectiveTag tag) override {
        return m_inner.receive(buffer, from, tag);
    }
    comm::Work barrier(comm::CollectiveTag tag) override { return m_inner.barrier(tag); }
    void waitPeers(const comm::Work& work) override { m_inner.waitPeers(work); }
    std::unique_ptr<comm::Communicator> split(std::span<const int> members,
                                              std::uint32_t group) override {
        return m_inner.split(members, group);
    }
    void abort() override { m_inner.abort(); }

private:
    comm::Work done(CollectiveOp operation, comm::Work work, void* result,
                    comm::CollectiveTag tag) {
        ++asked[{operation, tag.cause}];
        work.wait();
        if (spoil) spoil(operation, result);
        return work;
    }

    comm::Communicator& m_inner;
};

/// Steps in the order in which they began and ended.
class KeptSteps final : public control::Observer {
public:
    void stepBegin(std::int32_t step) override { begun.push_back(step); }
    void stepEnd(const control::StepReport& report) override { ended.push_back(report); }
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void collective(const control::CollectiveReport&) override {}
    void buffer(const control::BufferReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}

    std::vector<std::int32_t> begun;
    std::vector<control::StepReport> ended;
};

/// One rank's sweep over a communicator between it and the real one.
struct Rank {
    explicit Rank(comm::Communicator& communicator) : between(communicator) {}
    Result<SweepOutcome> sweep(const MeasurementPlan& plan) {
        return CollectiveSweep({between, steps, at::kCPU, freeBytes, [](std::int32_t) {}, stop},
                               plan)
            .run();
    }
    Between between;
    KeptSteps steps;
    std::int64_t freeBytes = std::int64_t{1} << 30;
    std::function<bool()> stop = [] { return false; };
};

class EverySweep : public testing::TestWithParam<test::RankSet> {};

TEST_P(EverySweep, GivesRightResultsAndAsManyRoundsAsPlanned) {
    const MeasurementPlan plan = planOf(kEvery, {{1'000}, {4'000'000}});
    GetParam().run([&](comm::Communicator& communicator) {
        Rank rank(communicator);
        const auto outcome = rank.sweep(plan);
        ASSERT_TRUE(outcome) << outcome.error().message;
        EXPECT_FALSE(outcome->stopped);
        EXPECT_EQ(outcome->cutShort, 0);
        EXPECT_TRUE(outcome->skipped.empty());
        EXPECT_EQ(rank.steps.begun.size(), 10u);
        ASSERT_EQ(rank.steps.ended.size(), 10u);
        EXPECT_EQ(rank.steps.ended.back().step, 9);
        EXPECT_EQ(rank.steps.ended.back().tokens, 0);
        for (const CollectiveOp operation : kEvery) {
            const int timed = rank.between.asked[{operation, Cause::kNone}];
            const int warmup = rank.between.asked[{operation, Cause::kStart}];
            EXPECT_EQ(timed, 2 * 3) << toWord(operation);
            EXPECT_EQ(warmup, 2 * 2) << toWord(operation);
        }
    });
}
INSTANTIATE_TEST_SUITE_P(Ranks, EverySweep, testing::ValuesIn(test::rankSets({2, 3})),
                         [](const auto& each) { return each.param.name(); });
INSTANTIATE_TEST_SUITE_P(Hosts, EverySweep, testing::ValuesIn(test::hostSets({{2, 2}})),
                         [](const auto& each) { return each.param.name(); });

/// A sum that lacks a rank, a part from the wrong one, two elements in the wrong order: each is
/// seen by the rank that has it and named.
TEST(CollectiveSweep, AWrongResultEndsItWithASentence) {
    struct Fault {
        const char* what;
        std::function<void(float*)> of;
    };
    const std::vector<Fault> faults = {
        {"an element too much", [](float* values) { values[7] += 1; }},
        {"another rank's element", [](float* values) { values[7] += 3; }},
        {"two elements in the wrong order", [](float* values) { std::swap(values[7], values[8]); }},
        {"nothing written", [](float* values) { values[7] = -1; }}};
    for (const CollectiveOp wrong : kEvery) {
        for (const Fault& fault : faults) {
            test::runRanks(2, [&](comm::Communicator& communicator) {
                Rank rank(communicator);
                rank.between.spoil = [&](CollectiveOp operation, void* result) {
                    if (operation == wrong && communicator.rank() == 1)
                        fault.of(static_cast<float*>(result));
                };
                MeasurementPlan plan = planOf({wrong}, {{1'000}});
                plan.rounds = 1;
                plan.warmup = 0;
                const auto outcome = rank.sweep(plan);
                EXPECT_EQ(outcome.has_value(), communicator.rank() == 0) << fault.what;
                if (communicator.rank() == 0) return;
                EXPECT_EQ(outcome.error().code, ErrorCode::kRank);
                EXPECT_THAT(outcome.error().message,
                            AllOf(HasSubstr(toWord(wrong)), HasSubstr("1 kB"), HasSubstr("rank 1"),
                                  HasSubstr("element 7 is")));
            });
        }
    }
}

/// Of the last timed round too, in memory that was put right between.
TEST(CollectiveSweep, SeesAResultThatIsWrongInTheLastRoundOnly) {
    test::runRanks(2, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        int calls = 0;
        rank.between.spoil = [&](CollectiveOp, void* result) {
            if (++calls == 5 && communicator.rank() == 1) static_cast<float*>(result)[0] += 1;
        };
        const auto outcome = rank.sweep(planOf({CollectiveOp::kAllReduce}, {{1'000}}));
        EXPECT_EQ(outcome.has_value(), communicator.rank() == 0);
    });
}

/// The rank with least memory decides for all, and steps keep their numbers.
TEST(CollectiveSweep, LeavesOutWhatDoesNotFitAnywhere) {
    test::runRanks(2, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        if (communicator.rank() == 1) rank.freeBytes = 5'000;
        const auto outcome = rank.sweep(planOf({CollectiveOp::kAllReduce}, {{1'000}, {1'000'000}}));
        ASSERT_TRUE(outcome) << outcome.error().message;
        using Item = MeasurementPlan::Item;
        EXPECT_THAT(outcome->skipped, ElementsAre(Item{CollectiveOp::kAllReduce, {1'000'000}}));
        EXPECT_EQ(outcome->leastFreeBytes, 5'000);
        EXPECT_EQ(rank.steps.ended.size(), 2u);
        EXPECT_EQ((rank.between.asked[{CollectiveOp::kAllReduce, Cause::kNone}]), 3);
    });
}

TEST(CollectiveSweep, HasNothingToDoWithoutMemoryForAny) {
    test::runRanks(2, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        rank.freeBytes = 0;
        const auto outcome = rank.sweep(planOf(kEvery, {{1'000}}));
        ASSERT_TRUE(outcome);
        EXPECT_EQ(outcome->skipped.size(), kEvery.size());
    });
}

TEST(CollectiveSweep, OfATimeThatIsOverMeasuresOneRoundEach) {
    test::runRanks(2, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        MeasurementPlan plan = planOf({CollectiveOp::kAllReduce}, {{1'000}, {2'000}});
        plan.rounds = 1'000;
        plan.seconds = 1e-9;
        const auto outcome = rank.sweep(plan);
        ASSERT_TRUE(outcome);
        EXPECT_EQ(outcome->cutShort, 2);
        EXPECT_EQ((rank.between.asked[{CollectiveOp::kAllReduce, Cause::kNone}]), 2);
    });
}

/// One rank hears of it first: all stop at the same place.
TEST(CollectiveSweep, StopsWhereOneRankWasAskedTo) {
    test::runRanks(3, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        int asked = 0;
        rank.stop = [&] { return communicator.rank() == 2 && ++asked > 9; };
        const auto outcome =
            rank.sweep(planOf({CollectiveOp::kAllReduce}, {{1'000}, {2'000}, {4'000}}));
        ASSERT_TRUE(outcome);
        EXPECT_TRUE(outcome->stopped);
        EXPECT_EQ(outcome->cutShort, 0);  // nobody ran out of time
        EXPECT_EQ(rank.steps.begun.size(), 2u);
        EXPECT_EQ(rank.steps.ended.size(), 2u);
    });
}

TEST(CollectiveSweep, OfNoOperationsNeedsNobody) {
    test::runRanks(1, [&](comm::Communicator& communicator) {
        Rank rank(communicator);
        MeasurementPlan plan = planOf({}, {{1'000}});
        plan.machine = true;
        EXPECT_TRUE(rank.sweep(plan));
        EXPECT_TRUE(rank.steps.begun.empty());
    });
}

}  // namespace
}  // namespace shardscope::worker
