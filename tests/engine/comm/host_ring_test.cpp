// What ranks on several hosts gather and sum, row by row, in pieces and in the order that the
// header promises; and what they tell of it.
#include "engine/comm/reduce.h"
#include "engine/run/theory/communicator_theory.h"
#include "tests/engine/comm/host_ranks.h"
#include "tests/engine/comm/rank_errors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <mutex>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::Communicator;
using comm::SymmetricBuffer;

/// Keeps what is told of collectives and buffers; any thread.
class Kept final : public control::Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    void collective(const control::CollectiveReport& report) override {
        const std::lock_guard lock(m_mutex);
        reports.push_back(report);
        levels.emplace_back(report.levels.begin(), report.levels.end());
        arrivals.push_back(report.arrivalsNs.size());
    }
    void buffer(const control::BufferReport& report) override {
        const std::lock_guard lock(m_mutex);
        held += report.action == MemoryAction::kAllocate ? report.sizeBytes : -report.sizeBytes;
    }

    std::vector<control::CollectiveReport> reports;
    std::vector<std::vector<control::LevelReport>> levels;
    std::vector<std::size_t> arrivals;
    std::int64_t held = 0;

private:
    std::mutex m_mutex;
};

struct Hosts {
    int hosts = 1, perHost = 1;
    [[nodiscard]] int ranks() const { return hosts * perHost; }
};

class HostRing : public testing::TestWithParam<Hosts> {
protected:
    void SetUp() override {
        if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    }
    /// Runs `call` on all ranks; nobody may fail.
    static void run(const test::RankCall& call, std::vector<Kept>* kept = nullptr) {
        const Hosts hosts = GetParam();
        const test::HostRanks ranks(
            std::vector<int>(static_cast<std::size_t>(hosts.hosts), hosts.perHost));
        const auto errors = test::errorsOf(
            hosts.ranks(),
            [&](int rank) {
                comm::HostRingSetup setup;
                if (kept != nullptr) {
                    setup.observer = &(*kept)[static_cast<std::size_t>(rank)];
                    setup.memory = setup.observer;
                }
                return ranks.join(rank, setup);
            },
            [&](Communicator& c) {
                call(c);
                c.barrier({}).wait();
            });
        EXPECT_THAT(errors, testing::Each(std::string()));
    }
};

INSTANTIATE_TEST_SUITE_P(Hosts, HostRing,
                         testing::Values(Hosts{1, 3}, Hosts{2, 1}, Hosts{2, 2}, Hosts{3, 1},
                                         Hosts{2, 3}, Hosts{4, 2}),
                         [](const auto& tested) {
                             return std::to_string(tested.param.hosts) + "x" +
                                    std::to_string(tested.param.perHost);
                         });

/// Elements of a rank's part: less than a piece, one, and more than are in flight.
constexpr std::size_t kCounts[] = {1, 1000, 262'144, 1'100'001};

/// A step through long rows that all ranks look at: part of no piece's size.
constexpr std::size_t kSome = 61;

/// Different everywhere, and no sum of several is exact.
float value(int rank, std::size_t i) {
    const auto mixed = static_cast<std::uint32_t>((i + 1) * 2'654'435'761U) ^
                       static_cast<std::uint32_t>((rank + 1) * 40'503);
    return static_cast<float>(mixed % 100'003) * 1.0e-5F + 0.1F;
}

float* floats(const SymmetricBuffer& buffer) {
    return static_cast<float*>(buffer.local);
}

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// As the header says: of element `i` over all ranks, for a rank of host `keeper`.
float sumFor(int keeper, std::size_t i, const std::function<float(int, std::size_t)>& of) {
    const Hosts hosts = HostRing::GetParam();
    float sum = 0;
    for (int step = 1; step <= hosts.hosts; ++step) {
        const int host = (keeper + step) % hosts.hosts;
        float near = of(host * hosts.perHost, i);
        for (int p = 1; p < hosts.perHost; ++p) near += of(host * hosts.perHost + p, i);
        sum = step == 1 ? near : sum + near;
    }
    return sum;
}

TEST_P(HostRing, GathersRowsOfAnyNumberOfPieces) {
    run([](Communicator& c) {
        for (const std::size_t n : kCounts) {
            const SymmetricBuffer shard = c.allocate(n, DataType::kFloat32);
            const SymmetricBuffer whole = c.allocate(n * at(c.size()), DataType::kFloat32);
            for (std::size_t i = 0; i < n; ++i) {
                floats(shard)[i] = value(c.rank(), i);
                floats(whole)[n * at(c.rank()) + i] = value(c.rank(), i);
            }
            std::vector<float> out(whole.count);
            c.allGather(shard, out.data(), {}).wait();
            c.allGatherInPlace(whole, {}).wait();
            for (int p = 0; p < c.size(); ++p) {
                for (std::size_t i = 0; i < n; ++i) {
                    ASSERT_EQ(out[n * at(p) + i], value(p, i)) << n;
                    ASSERT_EQ(floats(whole)[n * at(p) + i], value(p, i)) << n;
                }
            }
        }
    });
}

TEST_P(HostRing, SumsInTheOrderThatItPromises) {
    run([](Communicator& c) {
        for (const std::size_t n : kCounts) {
            const SymmetricBuffer full = c.allocate(n * at(c.size()), DataType::kFloat32);
            for (std::size_t i = 0; i < full.count; ++i) floats(full)[i] = value(c.rank(), i);
            std::vector<float> out(n, 0.25F), fresh(n, 7.0F);
            c.waitPeers(c.reduceScatter(full, out.data(), Accumulate::kYes, {}));
            c.waitPeers(c.reduceScatter(full, fresh.data(), Accumulate::kNo, {}));
            for (std::size_t i = 0; i < n; ++i) {
                const float sum =
                    sumFor(c.rank() / GetParam().perHost, n * at(c.rank()) + i, &value);
                ASSERT_EQ(fresh[i], sum) << n;
                ASSERT_EQ(out[i], 0.25F + sum) << n;
            }
        }
    });
}

/// Parts differ by an element, and ranks of one host pass on parts of different sizes.
TEST_P(HostRing, AllReducesTheSameBitsOnEveryRank) {
    run([](Communicator& c) {
        for (const std::size_t n : kCounts) {
            const SymmetricBuffer row = c.allocate(n * at(c.size()) + 1, DataType::kFloat32);
            for (std::size_t i = 0; i < row.count; ++i) floats(row)[i] = value(c.rank(), i);
            c.waitPeers(c.allReduce(row, {}));
            for (int p = 0; p < c.size(); ++p) {
                const std::size_t end = row.count * at(p + 1) / at(c.size());
                for (std::size_t i = row.count * at(p) / at(c.size()); i < end; i += kSome)
                    ASSERT_EQ(floats(row)[i], sumFor(p / GetParam().perHost, i, &value)) << n;
                ASSERT_EQ(floats(row)[end - 1], sumFor(p / GetParam().perHost, end - 1, &value));
            }
        }
    });
}

TEST_P(HostRing, HalvesAreRoundedOnceAfterSumsInFp32) {
    run([](Communicator& c) {
        const auto half = [](int rank, std::size_t i) {
            return comm::BFloat16::widen(comm::BFloat16::round(value(rank, i)));
        };
        const std::size_t n = 300'003;
        const SymmetricBuffer row = c.allocate(n * at(c.size()), DataType::kBFloat16);
        auto* halves = static_cast<std::uint16_t*>(row.local);
        for (std::size_t i = 0; i < row.count; ++i)
            halves[i] = comm::BFloat16::round(value(c.rank(), i));
        std::vector<float> out(n);
        c.waitPeers(c.reduceScatter(row, out.data(), Accumulate::kNo, {}));
        c.waitPeers(c.allReduce(row, {}));
        for (std::size_t i = 0; i < row.count; i += kSome) {
            const float sum = sumFor(static_cast<int>(i / n) / GetParam().perHost, i, half);
            ASSERT_EQ(halves[i], comm::BFloat16::round(sum));
            if (i / n == at(c.rank())) {
                ASSERT_EQ(out[i % n], sum);
            }
        }
    });
}

TEST_P(HostRing, BroadcastsAndExchangesLongRows) {
    run([](Communicator& c) {
        const std::size_t n = 300'001;
        const SymmetricBuffer row = c.allocate(n * at(c.size()), DataType::kFloat32);
        std::vector<float> out(row.count);
        for (int root = 0; root < c.size(); ++root) {
            for (std::size_t i = 0; i < row.count; ++i) floats(row)[i] = value(c.rank(), i);
            c.allToAll(row, out.data(), {}).wait();
            for (int p = 0; p < c.size(); ++p)
                ASSERT_EQ(out[n * at(p) + n - 1], value(p, n * at(c.rank()) + n - 1));
            c.waitPeers(c.broadcast(row, root, {}));
            for (std::size_t i = 0; i < row.count; i += kSome)
                ASSERT_EQ(floats(row)[i], value(root, i)) << root;
        }
    });
}

TEST_P(HostRing, MessagesGoInsideAndBetweenHosts) {
    run([](Communicator& c) {
        const SymmetricBuffer row = c.allocate(300'001, DataType::kFloat32);
        for (int from = 0; from < c.size(); ++from) {
            for (int to = 0; to < c.size(); ++to) {
                if (from == to || (c.rank() != from && c.rank() != to)) continue;
                std::fill_n(floats(row), row.count, value(c.rank(), 5));
                (c.rank() == from ? c.send(row, to, {}) : c.receive(row, from, {})).wait();
                ASSERT_EQ(floats(row)[row.count - 1], value(from, 5));
            }
        }
    });
}

/// By their times, without gaps: all that analyses and the timeline rely on.
TEST_P(HostRing, TellsWhenItWasBetweenHostsAndWhenInside) {
    std::vector<Kept> kept(at(GetParam().ranks()));
    run(
        [](Communicator& c) {
            const SymmetricBuffer row = c.allocate(at(c.size()) << 18, DataType::kFloat32);
            c.allReduce(row, {Cause::kGradient, LayerIndex{2}, 7}).wait();
        },
        &kept);
    for (const Kept& each : kept) {
        ASSERT_EQ(each.reports.size(), 2U);  // and the barrier at the end
        const control::CollectiveReport& report = each.reports[0];
        EXPECT_STREQ(report.algorithm, "rails");
        EXPECT_EQ(report.sequence, 1U);
        const auto& levels = each.levels[0];
        if (GetParam().hosts == 1) {
            EXPECT_TRUE(levels.empty());
            EXPECT_EQ(each.arrivals[0], at(GetParam().ranks()));
            continue;
        }
        EXPECT_EQ(each.arrivals[0], 0U);  // on clocks of other hosts
        ASSERT_GT(levels.size(), 2U);
        EXPECT_EQ(levels.front().startNs, report.startNs);
        EXPECT_EQ(levels.back().endNs, report.endNs);
        for (std::size_t i = 1; i < levels.size(); ++i) {
            EXPECT_EQ(levels[i].startNs, levels[i - 1].endNs);
            EXPECT_NE(levels[i].level, levels[i - 1].level);
        }
    }
}

/// A run on such hosts.
run::RunConfig configOf(const Hosts& hosts) {
    run::RunConfig config;
    config.ranks = hosts.ranks();
    for (int i = 0; i < hosts.hosts; ++i)
        config.hosts += fmt::format("{}host{}:{}", i > 0 ? "," : "", i, hosts.perHost);
    return config;
}

TEST_P(HostRing, ItsOwnMemoryIsToldOfAndGivenBack) {
    const Hosts hosts = GetParam();
    std::vector<Kept> kept(at(hosts.ranks()));
    run(
        [&](Communicator& c) {
            const Kept& own = kept[at(c.rank())];
            const SymmetricBuffer row = c.allocate(1000 * at(c.size()), DataType::kFloat32);
            const SymmetricBuffer shard = c.allocate(1000, DataType::kFloat32);
            std::vector<float> out(row.count);
            EXPECT_EQ(own.held, 0);
            c.waitPeers(c.reduceScatter(row, out.data(), Accumulate::kNo, {}));
            const std::int64_t pieces = hosts.hosts == 1 ? 0 : (hosts.hosts == 2 ? 8 : 12);
            const std::int64_t sums = pieces * 1000 * 4;
            EXPECT_EQ(own.held, sums);
            c.allGather(shard, out.data(), {}).wait();
            const bool stages = hosts.hosts > 1 && hosts.perHost > 1;
            EXPECT_EQ(own.held, sums + (stages ? (std::int64_t{4} << 20) * (hosts.hosts - 1) : 0));
            if (hosts.perHost == 1) return;  // a run would not make this communicator of them
            EXPECT_EQ(own.held, theory::communicatorBytes(
                                    configOf(hosts), {.summed = 1000 * c.size(), .gathers = true}));
        },
        &kept);
    for (const Kept& each : kept) EXPECT_EQ(each.held, 0);
}

/// Two of host 0 and one of host 1, beside the rest: no such group is even.
TEST(HostRingGroups, LieUnevenlyToo) {
    if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    const test::HostRanks hosts({3, 3});
    const auto errors = test::errorsOf(
        6, [&](int rank) { return hosts.join(rank); },
        [](Communicator& c) {
            const bool chosen = c.rank() == 0 || c.rank() == 2 || c.rank() == 3;
            const std::vector<int> some{0, 2, 3}, rest{1, 4, 5};
            const auto group = c.split(chosen ? some : rest, chosen ? 1 : 2);
            const SymmetricBuffer row = group->allocate(10, DataType::kFloat32);
            const SymmetricBuffer common = c.allocate(10, DataType::kFloat32);
            std::fill_n(floats(row), 10, static_cast<float>(c.rank()));
            group->waitPeers(group->allReduce(row, {}));
            EXPECT_EQ(floats(row)[9], chosen ? 5.0F : 10.0F);
            std::fill_n(floats(row), 10, 1.0F);
            c.waitPeers(c.allReduce(row, {}));  // a group's memory is everybody's
            EXPECT_EQ(floats(row)[3], 6.0F);
            std::fill_n(floats(common), 10, 1.0F);
            group->waitPeers(group->allReduce(common, {}));
            EXPECT_EQ(floats(common)[3], 3.0F);
            c.barrier({}).wait();
        });
    EXPECT_THAT(errors, testing::Each(std::string()));
}

using Groups = std::pair<std::unique_ptr<Communicator>, std::unique_ptr<Communicator>>;

/// As hsdp makes them: of the ranks that share a copy of the state, and of those with the same
/// shard.
Groups groupsOf(Communicator& c, int shard) {
    std::vector<int> inside, across;
    for (int p = 0; p < c.size(); ++p) {
        if (p / shard == c.rank() / shard) inside.push_back(p);
        if (p % shard == c.rank() % shard) across.push_back(p);
    }
    const int groups = c.size() / shard;
    auto first = c.split(inside, static_cast<std::uint32_t>(1 + c.rank() / shard));
    auto second = c.split(across, static_cast<std::uint32_t>(1 + groups + c.rank() % shard));
    return {std::move(first), std::move(second)};
}

/// Groups of a rank, of a host and of two: what each holds, as memory theory has it.
TEST(HostRingGroups, HoldWhatTheoryCounts) {
    if (!comm::hasGloo()) GTEST_SKIP() << "built without Gloo";
    constexpr Hosts kHosts{4, 2};
    for (const int shard : {1, 2, 4}) {
        run::RunConfig config = configOf(kHosts);
        config.strategy = run::Strategy::kHsdp;
        config.shardRanks = shard;
        const test::HostRanks hosts(std::vector<int>(kHosts.hosts, kHosts.perHost));
        std::vector<Kept> kept(at(kHosts.ranks()));
        const auto errors = test::errorsOf(
            kHosts.ranks(),
            [&](int rank) {
                comm::HostRingSetup setup;
                setup.memory = &kept[at(rank)];
                return hosts.join(rank, setup);
            },
            [&](Communicator& c) {
                const auto [inside, across] = groupsOf(c, shard);
                const Kept& own = kept[at(c.rank())];
                const SymmetricBuffer row = inside->allocate(1000 * at(shard), DataType::kFloat32);
                const SymmetricBuffer part = across->allocate(1000, DataType::kFloat32);
                std::vector<float> out(row.count);
                inside->waitPeers(inside->reduceScatter(row, out.data(), Accumulate::kNo, {}));
                across->waitPeers(across->allReduce(part, {}));
                inside->allGather(part, out.data(), {}).wait();
                EXPECT_EQ(own.held,
                          theory::communicatorBytes(
                              config, {.summed = 1000 * shard, .across = 1000, .gathers = true}));
                c.barrier({}).wait();
            });
        EXPECT_THAT(errors, testing::Each(std::string()));
    }
}

}  // namespace
}  // namespace shardscope
