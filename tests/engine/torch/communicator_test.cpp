#include "engine/comm/reduce.h"
#include "tests/engine/torch/kept_reports.h"
#include "tests/engine/torch/rank_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::Communicator;
using comm::SymmetricBuffer;

class Collectives : public testing::TestWithParam<test::RankSet> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::ValuesIn(test::rankSets({1, 2, 3, 4, 7})),
                         [](const auto& tested) { return tested.param.name(); });
INSTANTIATE_TEST_SUITE_P(Hosts, Collectives,
                         testing::ValuesIn(test::hostSets(
                             {{2}, {2, 2}, {1, 1, 1}, {3, 3}, {2, 2, 2}, {2, 2, 2, 2}, {1, 2}})),
                         [](const auto& tested) { return tested.param.name(); });

/// A value that tells rank and position apart.
float mark(int rank, std::size_t i) {
    return static_cast<float>(rank * 1000) + static_cast<float>(i);
}

float* floats(const SymmetricBuffer& buffer) {
    return static_cast<float*>(buffer.local);
}

void fill(const SymmetricBuffer& buffer, int rank) {
    for (std::size_t i = 0; i < buffer.count; ++i) floats(buffer)[i] = mark(rank, i);
}

class SharedMemory : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemory, testing::Values(1, 2, 3, 4, 7));

TEST_P(SharedMemory, SumsBfloat16InFp32) {
    test::runRanks(GetParam(), [&](Communicator& c) {
        const std::size_t n = 3000;
        const auto ranks = static_cast<std::size_t>(c.size());
        const SymmetricBuffer full = c.allocate(n * ranks, DataType::kBFloat16);
        auto* values = static_cast<std::uint16_t*>(full.local);
        // 1 + i/128 of small i is exact in bf16; the sum of several is not, and must not be cut.
        const auto value = [](int rank, std::size_t i) {
            return 1.0F + static_cast<float>((i + static_cast<std::size_t>(rank)) % 128) / 128.0F;
        };
        for (std::size_t i = 0; i < full.count; ++i) {
            values[i] =
                static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value(c.rank(), i)) >> 16);
        }
        std::vector<float> out(n, 0.25F);
        c.waitPeers(c.reduceScatter(full, out.data(), Accumulate::kYes, {}));
        for (std::size_t i = 0; i < n; ++i) {
            float sum = 0.25F;
            for (int p = 0; p < c.size(); ++p) {
                sum += value(p, static_cast<std::size_t>(c.rank()) * n + i);
            }
            ASSERT_EQ(out[i], sum);
        }
    });
}

TEST_P(Collectives, AllGatherPutsEveryShardInRankOrder) {
    GetParam().run([&](Communicator& c) {
        const SymmetricBuffer shard = c.allocate(100, DataType::kFloat32);
        fill(shard, c.rank());
        std::vector<float> out(100 * static_cast<std::size_t>(c.size()));
        c.allGather(shard, out.data(), {}).wait();
        for (int p = 0; p < c.size(); ++p) {
            for (std::size_t i = 0; i < 100; ++i) {
                ASSERT_EQ(out[static_cast<std::size_t>(p) * 100 + i], mark(p, i));
            }
        }
    });
}

TEST_P(Collectives, ReduceScatterSumsThisRanksPartAndAddsWhenAsked) {
    GetParam().run([&](Communicator& c) {
        const std::size_t n = 5000;  // more than one tile
        const SymmetricBuffer full =
            c.allocate(n * static_cast<std::size_t>(c.size()), DataType::kFloat32);
        fill(full, c.rank());
        std::vector<float> out(n, 1.0F);
        for (Accumulate accumulate : {Accumulate::kNo, Accumulate::kYes}) {
            c.waitPeers(c.reduceScatter(full, out.data(), accumulate, {}));
        }
        for (std::size_t i = 0; i < n; ++i) {
            float sum = 0;
            for (int p = 0; p < c.size(); ++p) {
                sum += mark(p, static_cast<std::size_t>(c.rank()) * n + i);
            }
            ASSERT_EQ(out[i], 2 * sum);
        }
    });
}

TEST_P(Collectives, AllReduceGivesEveryRankTheSum) {
    GetParam().run([&](Communicator& c) {
        const SymmetricBuffer buffer = c.allocate(1001, DataType::kFloat32);  // does not divide
        fill(buffer, c.rank());
        c.allReduce(buffer, {}).wait();
        for (std::size_t i = 0; i < buffer.count; ++i) {
            float sum = 0;
            for (int p = 0; p < c.size(); ++p) sum += mark(p, i);
            ASSERT_EQ(floats(buffer)[i], sum);
        }
    });
}

TEST_P(Collectives, SmallAllReduceSumsOrTakesTheLargest) {
    GetParam().run([&](Communicator& c) {
        for (int round = 0; round < 5; ++round) {
            std::array<double, 2> sum{1.0, static_cast<double>(c.rank() + round)};
            c.allReduceSmall(sum, comm::Reduction::kSum, {}).wait();
            EXPECT_EQ(sum[0], c.size());
            EXPECT_EQ(sum[1], c.size() * (c.size() - 1) / 2 + round * c.size());
            std::array<double, 1> largest{static_cast<double>(c.rank())};
            c.allReduceSmall(largest, comm::Reduction::kMax, {}).wait();
            EXPECT_EQ(largest[0], c.size() - 1);
        }
    });
}

TEST_P(Collectives, BroadcastCopiesTheRootsBuffer) {
    GetParam().run([&](Communicator& c) {
        const int root = c.size() - 1;
        const SymmetricBuffer buffer = c.allocate(64, DataType::kFloat32);
        fill(buffer, c.rank());
        c.broadcast(buffer, root, {}).wait();
        for (std::size_t i = 0; i < buffer.count; ++i) ASSERT_EQ(floats(buffer)[i], mark(root, i));
    });
}

TEST_P(Collectives, AllToAllGivesEveryRankItsPart) {
    GetParam().run([&](Communicator& c) {
        const auto ranks = static_cast<std::size_t>(c.size());
        const SymmetricBuffer send = c.allocate(10 * ranks, DataType::kInt64);
        for (std::size_t i = 0; i < send.count; ++i) {
            static_cast<std::int64_t*>(send.local)[i] =
                c.rank() * 1000 + static_cast<std::int64_t>(i);
        }
        std::vector<std::int64_t> out(send.count);
        c.allToAll(send, out.data(), {}).wait();
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto own = static_cast<std::int64_t>(c.rank()) * 10;
            ASSERT_EQ(out[i], static_cast<std::int64_t>(i / 10) * 1000 + own +
                                  static_cast<std::int64_t>(i % 10));
        }
        c.barrier({}).wait();
    });
}

TEST_P(Collectives, MessagesGoFromRankToRankAndDisturbNobodyElse) {
    GetParam().run([&](Communicator& c) {
        const SymmetricBuffer buffer = c.allocate(100, DataType::kFloat32);
        // A ring, as in a pipeline: each passes on what it got, ten times over.
        for (int round = 0; round < 10 && c.size() > 1; ++round) {
            if (c.rank() == 0) {
                for (std::size_t i = 0; i < 100; ++i) floats(buffer)[i] = mark(round, i);
            } else {
                c.receive(buffer, c.rank() - 1, {}).wait();
            }
            ASSERT_EQ(floats(buffer)[99], mark(round, 99));
            c.send(buffer, (c.rank() + 1) % c.size(), {}).wait();
            if (c.rank() == 0) c.receive(buffer, c.size() - 1, {}).wait();
            ASSERT_EQ(floats(buffer)[7], mark(round, 7));
        }
        c.barrier({}).wait();
    });
}

TEST_P(Collectives, EveryTypeIsGatheredAndBroadcast) {
    for (const DataType dtype : {DataType::kByte, DataType::kFloat16, DataType::kFloat64}) {
        GetParam().run([&](Communicator& c) {
            const SymmetricBuffer shard = c.allocate(7, dtype);
            std::memset(shard.local, c.rank() + 1, shard.bytes());
            std::vector<std::uint8_t> out(shard.bytes() * static_cast<std::size_t>(c.size()));
            c.allGather(shard, out.data(), {}).wait();
            for (std::size_t i = 0; i < out.size(); ++i) {
                ASSERT_EQ(out[i], i / shard.bytes() + 1);
            }
            c.broadcast(shard, 0, {}).wait();
            ASSERT_EQ(static_cast<std::uint8_t*>(shard.local)[0], 1);
        });
    }
}

/// Small integers and their sums are exact in bf16 and fp16.
TEST_P(Collectives, HalvesAreSummed) {
    for (const DataType dtype : {DataType::kBFloat16, DataType::kFloat16}) {
        GetParam().run([&](Communicator& c) {
            const auto ranks = static_cast<std::size_t>(c.size());
            const SymmetricBuffer full = c.allocate(3000 * ranks, dtype);
            auto* halves = static_cast<std::uint16_t*>(full.local);
            const auto value = [](std::size_t rank, std::size_t i) {
                return static_cast<float>((i * (rank + 3)) % 16);
            };
            const auto sum = [&](std::size_t i) {
                float all = 0;
                for (std::size_t p = 0; p < ranks; ++p) all += value(p, i);
                return all;
            };
            const auto own = static_cast<std::size_t>(c.rank());
            for (std::size_t i = 0; i < full.count; ++i) {
                halves[i] = dtype == DataType::kBFloat16 ? comm::BFloat16::round(value(own, i))
                                                         : comm::Float16::round(value(own, i));
            }
            for (const Accumulate accumulate : {Accumulate::kYes, Accumulate::kNo}) {
                std::vector<float> out(3000, 0.5F);
                c.waitPeers(c.reduceScatter(full, out.data(), accumulate, {}));
                const float before = accumulate == Accumulate::kYes ? 0.5F : 0.0F;
                for (std::size_t i = 0; i < out.size(); ++i) {
                    ASSERT_EQ(out[i], before + sum(own * 3000 + i));
                }
            }
            c.allReduce(full, {}).wait();
            for (std::size_t i = 0; i < full.count; ++i) {
                ASSERT_EQ(test::elementOf(halves, dtype, static_cast<std::int64_t>(i)), sum(i));
            }
        });
    }
}

TEST_P(Collectives, SplitIntoGroupsThatWorkSideBySide) {
    GetParam().run([&](Communicator& c) {
        // Even and odd ranks, then neighbours, as HSDP's two dimensions.
        const SymmetricBuffer common = c.allocate(12, DataType::kFloat32);
        std::vector<int> alike;
        for (int p = c.rank() % 2; p < c.size(); p += 2) alike.push_back(p);
        const auto across = c.split(alike, 1 + static_cast<std::uint32_t>(c.rank()) % 2);
        std::vector<int> near{c.rank() / 2 * 2};
        if (near[0] + 1 < c.size()) near.push_back(near[0] + 1);
        const auto inside = c.split(near, 3 + static_cast<std::uint32_t>(c.rank()) / 2);
        ASSERT_EQ(across->size(), static_cast<int>(alike.size()));
        ASSERT_EQ(inside->rank(), c.rank() % 2);

        for (int round = 0; round < 20; ++round) {
            for (Communicator* part : {across.get(), inside.get(), &c}) {
                const std::vector<int>& members = part == &c             ? std::vector<int>()
                                                  : part == inside.get() ? near
                                                                         : alike;
                float expected = 0;
                for (int p = 0; p < c.size(); ++p) {
                    const bool takesPart =
                        part == &c || std::find(members.begin(), members.end(), p) != members.end();
                    if (takesPart) expected += static_cast<float>(p + round);
                }
                std::fill_n(floats(common), 12, static_cast<float>(c.rank() + round));
                const SymmetricBuffer local = part->allocate(4, DataType::kFloat32);
                std::fill_n(floats(local), 4, static_cast<float>(c.rank() + round));
                part->waitPeers(part->allReduce(common, {}));
                part->waitPeers(part->allReduce(local, {}));
                ASSERT_EQ(floats(common)[11], expected);
                ASSERT_EQ(floats(local)[3], expected);
            }
        }
        c.barrier({}).wait();
    });
}

TEST_P(Collectives, RefusesAGroupWithoutThisRank) {
    GetParam().run([&](Communicator& c) {
        const std::vector<int> others{c.rank() + 1};
        EXPECT_THROW(static_cast<void>(c.split(others, 1)), comm::CommunicationError);
        EXPECT_THROW(c.send(c.allocate(1, DataType::kByte), c.rank(), {}),
                     comm::CommunicationError);
    });
}

TEST_P(Collectives, ManyInFlightKeepTheirOrder) {
    GetParam().run([&](Communicator& c) {
        const SymmetricBuffer shard = c.allocate(16, DataType::kFloat32);
        std::vector<std::vector<float>> outs(200);
        std::vector<comm::Work> works;
        fill(shard, c.rank());
        for (auto& out : outs) {
            out.resize(16 * static_cast<std::size_t>(c.size()));
            works.push_back(c.allGather(shard, out.data(), {}));
        }
        works.back().wait();
        for (const comm::Work& work : works) EXPECT_TRUE(work.ready());
    });
}

TEST(Communicator, AbortFreesAWaitingPeer) {
    auto segment = comm::Segment::anonymous(1 << 20, 2);
    ASSERT_TRUE(segment);
    const auto waiting = comm::makeDirectCommunicator(*segment, 0, nullptr, "threads");
    const auto leaving = comm::makeDirectCommunicator(*segment, 1, nullptr, "threads");
    const comm::Work work = waiting->barrier({});
    leaving->abort();
    EXPECT_THROW(work.wait(), comm::CommunicationError);
}

TEST(Communicator, SaysWhenTheArenaIsFull) {
    auto segment = comm::Segment::anonymous(64 << 10, 1);
    ASSERT_TRUE(segment);
    const auto c = comm::makeDirectCommunicator(*segment, 0, nullptr, "threads");
    EXPECT_THROW(c->allocate(1 << 20, DataType::kFloat32), comm::CommunicationError);
}

TEST(Communicator, ReportsIssueArrivalsStartAndEndInOrder) {
    auto segment = comm::Segment::anonymous(1 << 20, 2);
    ASSERT_TRUE(segment);
    std::array<test::KeptReports, 2> observers;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
        threads.emplace_back([&, rank] {
            const auto c = comm::makeDirectCommunicator(
                *segment, rank, &observers[static_cast<std::size_t>(rank)], "threads");
            const SymmetricBuffer shard = c->allocate(16, DataType::kFloat32);
            std::vector<float> out(32);
            c->allGather(shard, out.data(), {Cause::kPrefetch, LayerIndex{3}, 7}).wait();
            c->barrier({}).wait();
        });
    }
    for (auto& thread : threads) thread.join();
    for (int rank = 0; rank < 2; ++rank) {
        const auto& seen = observers[static_cast<std::size_t>(rank)];
        ASSERT_EQ(seen.reports.size(), 2U);
        const control::CollectiveReport& gather = seen.reports[0];
        EXPECT_EQ(gather.operation, CollectiveOp::kAllGather);
        EXPECT_EQ(gather.sizeBytes, 128);
        EXPECT_EQ(gather.sequence, 1U);
        EXPECT_EQ(gather.step, 7);
        EXPECT_EQ(gather.layer, LayerIndex{3});
        EXPECT_LE(gather.issueNs, gather.startNs);
        ASSERT_EQ(seen.arrivals[0].size(), 2U);
        EXPECT_EQ(seen.arrivals[0][static_cast<std::size_t>(rank)], gather.startNs);
        for (std::int64_t arrival : seen.arrivals[0]) EXPECT_LE(arrival, gather.endNs);
    }
    EXPECT_EQ(observers[0].arrivals[0], observers[1].arrivals[0]);
}

}  // namespace
}  // namespace shardscope
