// What is drawn depends on the records, not on the order and the buffers they come in.
#include "tests/profiler/collectors/cupti/correlator_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace shardscope::collectors::cupti {
namespace {

// Drawn spans, counters and collectives, free of ids that follow the order of appearance.
using Drawn = std::multiset<std::tuple<std::string, std::string, std::string, std::int64_t,
                                       std::int64_t, std::uint64_t, std::int32_t, std::int16_t>>;

struct Outcome {
    Drawn spans;
    std::vector<std::pair<std::int64_t, double>> points;
    std::multiset<std::pair<std::uint64_t, std::int64_t>> collectives;
    std::vector<std::uint64_t> counts;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// A step's worth of everything: launches from three threads (one also through the driver),
/// copies, a graph replay, collectives, waits for events, allocations, and records that are
/// dropped.
std::vector<Record> records(CorrelatorFixture& f) {
    std::vector<Record> all;
    const char* operators[] = {"aten::mm", "aten::gelu", "mm_backward", "all_gather"};
    for (std::uint32_t i = 1; i <= 60; ++i) {
        const std::int64_t t = i * 1000;
        const std::uint32_t thread = 100 + i % 3;
        const auto context = f.during(operators[i % 4], static_cast<std::int32_t>(i / 20),
                                      static_cast<std::int16_t>(i % 7), Phase::kForward);
        const bool collective = i % 4 == 3;
        if (i % 5 != 0) all.push_back(CorrelatorFixture::context(i, context));
        if (collective) all.push_back(CorrelatorFixture::ncclLaunch(i, 900 + i));
        all.push_back(CorrelatorFixture::call(i, t, t + 300, thread));
        if (i % 6 == 0) {
            all.push_back(
                CorrelatorFixture::call(i, t + 10, t + 200, thread, 307, CallDomain::kDriver));
        }
        if (i % 8 == 1) {
            all.push_back(CorrelatorFixture::copy(i, t + 500, t + 800, 7 + i % 2));
        } else {
            all.push_back(f.kernel(i, t + 500, t + 900,
                                   collective ? "ncclDevKernel_AllGather" : "gemm", 7 + i % 2));
        }
    }
    for (std::uint64_t node = 1; node <= 10; ++node) {
        f.nodes.add(node, {f.during("captured", 0, static_cast<std::int16_t>(node)), 0});
        all.push_back(f.kernel(200, 70'000 + static_cast<std::int64_t>(node) * 10,
                               70'005 + static_cast<std::int64_t>(node) * 10, "gemm", 9, node));
    }
    all.push_back(CorrelatorFixture::context(200, f.during("replay", 2)));
    all.push_back(CorrelatorFixture::call(200, 69'000, 69'500, 100, 311));
    for (std::uint32_t i = 1; i <= 10; ++i) {
        const std::int64_t t = 80'000 + i * 100;
        all.push_back(SyncRecord{interval(t, t + 50), SyncType::kEvent, 300 + i, 1, ~0u, i, i});
        all.push_back(EventRecord{{1, 7 + i % 3}, i, i});
        all.push_back(CorrelatorFixture::call(300 + i, t - 1, t + 51, 101, 137));
        all.push_back(AllocationRecord{kEpoch + t, i % 4, 100 * i, i % 3 != 0, true});
        all.push_back(OverheadRecord{interval(t, t + 1), 1u << 16});
    }
    all.push_back(f.kernel(400, 95'000, 94'000));  // reversed
    KernelRecord untimed = f.kernel(401, 0, 0);
    untimed.work.time = {0, 0};
    all.push_back(untimed);
    return all;
}

/// Buffers of random sizes, one flush somewhere in between.
Outcome outcome(unsigned seed) {
    CorrelatorFixture f;
    std::vector<Record> all = records(f);
    std::mt19937 random(seed);
    if (seed != 0) std::shuffle(all.begin(), all.end(), random);
    const std::size_t flushAt = std::uniform_int_distribution<std::size_t>(0, all.size())(random);
    bool flushed = false;
    for (std::size_t begin = 0; begin < all.size();) {
        const auto size = std::uniform_int_distribution<std::size_t>(1, 40)(random);
        const std::size_t end = std::min(all.size(), begin + size);
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
        f.correlator.add({from, all.begin() + static_cast<std::ptrdiff_t>(end)});
        begin = end;
        if (!flushed && begin >= flushAt) {
            f.correlator.settle(true);
            flushed = true;
        }
    }
    f.correlator.finish();
    Outcome result;
    for (const SpanEvent& s : f.sink.kept) {
        result.spans.emplace(f.sink.lanes.at(s.lane).name, f.nameOf(s), f.argumentsOf(s),
                             s.start.ns, s.duration.ns, s.correlation, s.step.value, s.layer.value);
    }
    for (const CounterEvent& p : f.sink.points) result.points.emplace_back(p.time.ns, p.value);
    for (const auto& kernel : f.sink.collectives) {
        result.collectives.emplace(kernel.launch, kernel.start.ns);
    }
    const capture::DeviceCounts& c = f.correlator.counts();
    result.counts = {c.kernels, c.attributed, c.launches, c.untimed, c.reversed, c.early};
    return result;
}

TEST(CorrelatorOrder, RandomInterleavingsDrawTheSame) {
    const Outcome expected = outcome(0);
    // 60 calls and their work, 10 kernels of a graph with its launch, 10 waits with their calls
    // and as much overhead.
    EXPECT_EQ(expected.spans.size(), 60u * 2 + 11 + 30);
    EXPECT_EQ(expected.collectives.size(), 15u);
    EXPECT_EQ(expected.counts, (std::vector<std::uint64_t>{64, 51, 60, 1, 1, 0}));
    for (unsigned seed = 1; seed <= 500; ++seed) {
        ASSERT_EQ(outcome(seed), expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace shardscope::collectors::cupti
