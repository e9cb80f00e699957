// Launching threads, levels that change and flushes from elsewhere, all at once. Worth most
// under the thread sanitizer.
#include "profiler/collectors/cupti/cupti_collector.h"
#include "tests/profiler/collectors/cupti/fake_cupti.h"
#include "tests/profiler/collectors/cupti/kept_device_events.h"

#include <gtest/gtest.h>

#include <thread>

namespace shardscope::collectors {
namespace {

constexpr int kThreads = 4;
constexpr std::uint32_t kBuffersEach = 200;
constexpr std::uint32_t kLaunchesEach = 10;  // in a buffer

TEST(CuptiThreads, NothingIsLostBetweenLaunchesFlushesAndLevels) {
    FakeCupti cupti;
    KeptDeviceEvents sink;
    const StringId operatorName = sink.intern("aten::mm");
    CuptiOptions options;
    options.buffers = 6;
    options.bufferBytes = 16 << 10;
    options.flushPeriod = std::chrono::milliseconds(1);
    options.pollPeriod = std::chrono::milliseconds(1);
    auto started = startCuptiCollector(cupti, capture::DeviceLevel::kFull, sink, options);
    ASSERT_NE(started.collector, nullptr);
    const auto now = static_cast<std::uint64_t>(cupti::readClocks().realtime);

    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> refused{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            const auto& annotator = started.collector->annotator();
            for (std::uint32_t b = 0; b < kBuffersEach; ++b) {
                Activities activities;
                for (std::uint32_t i = 0; i < kLaunchesEach; ++i) {
                    const std::uint32_t id = 1 + (t * kBuffersEach + b) * kLaunchesEach + i;
                    const auto context = capture::pack(
                        {{static_cast<std::int32_t>(b)}, {1}, Phase::kForward, operatorName});
                    annotator.push(capture::AnnotationStack::kContext, context);
                    activities.add(externalActivity(id, context))
                        .add(callActivity(id, now, now + 10, t + 1))
                        .add(kernelActivity(id, now + 20, now + 30, "gemm", t));
                    cupti.client()->graphNodeCreated(id, true);
                    annotator.pop(capture::AnnotationStack::kContext);
                }
                (cupti.deliver(activities) ? delivered : refused) += kLaunchesEach;
            }
        });
    }
    std::thread levels([&] {
        for (int i = 0; i < 50; ++i) {
            started.collector->setLevel(i % 2 == 0 ? capture::DeviceLevel::kKernels
                                                   : capture::DeviceLevel::kFull);
        }
    });
    std::thread flusher([&] {
        for (int i = 0; i < 20; ++i) {
            started.collector->flush(false);
            EXPECT_LE(started.collector->counts().attributed, started.collector->counts().kernels);
        }
    });
    for (std::thread& thread : threads) thread.join();
    levels.join();
    flusher.join();
    started.collector->flush(true);

    const capture::DeviceCounts counts = started.collector->counts();
    EXPECT_EQ(delivered + refused, std::uint64_t{kThreads} * kBuffersEach * kLaunchesEach);
    EXPECT_EQ(counts.kernels, delivered);
    EXPECT_EQ(counts.attributed, delivered) << "a buffer holds both halves";
    EXPECT_EQ(counts.launches, delivered);
    EXPECT_EQ(counts.records, delivered * 3);
    EXPECT_EQ(counts.dropped, refused * 3);
    const auto pushes = cupti.state([](const FakeCupti& c) { return c.pushed.size(); });
    EXPECT_EQ(pushes,
              static_cast<std::size_t>(cupti.state([](const FakeCupti& c) { return c.pops; })));
    started.collector.reset();
    EXPECT_EQ(sink.kept.size(), delivered * 2) << "kernels and calls";
    EXPECT_TRUE(cupti.kinds.empty());
    EXPECT_EQ(cupti.client(), nullptr);
}

TEST(CuptiThreads, StopsWhileRecordsKeepComing) {
    for (int round = 0; round < 20; ++round) {
        FakeCupti cupti;
        KeptDeviceEvents sink;
        CuptiOptions options;
        options.buffers = 4;
        options.bufferBytes = 4096;
        options.pollPeriod = std::chrono::milliseconds(1);
        auto started = startCuptiCollector(cupti, capture::DeviceLevel::kKernels, sink, options);
        ASSERT_NE(started.collector, nullptr);
        const auto now = static_cast<std::uint64_t>(cupti::readClocks().realtime);
        std::uint64_t delivered = 0;
        std::thread launches([&] {
            for (std::uint32_t i = 1; i <= 100; ++i) {
                if (cupti.deliver(Activities().add(kernelActivity(i, now, now + 1)))) ++delivered;
            }
        });
        launches.join();  // the device is idle before the collector goes
        started.collector.reset();
        EXPECT_EQ(sink.kept.size(), delivered);
    }
}

}  // namespace
}  // namespace shardscope::collectors
