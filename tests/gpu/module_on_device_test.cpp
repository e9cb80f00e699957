// Events, streams, memory, NCCL, the allocation trace and kernel tracing on a real device.
#include "tests/gpu/device_fixture.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::worker {
namespace {

using collectors::DeviceAllocation;
using collectors::DeviceAllocationAction;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::Ge;
using ::testing::Le;

/// Some milliseconds of work on the current stream.
void work() {
    static const at::Tensor a = onDevice(at::randn({2048, 2048}));
    at::Tensor b = a;
    for (int i = 0; i < 20; ++i) b = at::mm(a, b * 0.01);
}

TEST_F(DeviceTest, EventsMeasureWhatLiesBetweenThem) {
    work();
    const control::DeviceStream current = runtime().currentStream();
    const control::DeviceEvent from = runtime().createEvent();
    const control::DeviceEvent to = runtime().createEvent();
    runtime().record(from, current);
    work();
    runtime().record(to, current);
    runtime().synchronize(to);
    EXPECT_TRUE(runtime().reached(from));
    EXPECT_TRUE(runtime().reached(to));
    EXPECT_GT(runtime().elapsedNs(from, to), 1000);
    EXPECT_LE(runtime().elapsedNs(to, from), 0);
    runtime().destroy(from);
    runtime().destroy(to);
}

TEST_F(DeviceTest, AStreamWaitsForAnothersEvent) {
    const control::DeviceStream other = runtime().createStream(true);
    EXPECT_NE(other, runtime().currentStream());
    const control::DeviceEvent first = runtime().createEvent();
    const control::DeviceEvent second = runtime().createEvent();
    work();
    runtime().record(first, runtime().currentStream());
    runtime().wait(other, first);
    runtime().record(second, other);
    runtime().synchronize(second);
    EXPECT_TRUE(runtime().reached(first));
    EXPECT_GE(runtime().elapsedNs(first, second), 0);
    runtime().destroy(first);
    runtime().destroy(second);
}

TEST_F(DeviceTest, MemoryCountsTensors) {
    const control::DeviceMemory before = runtime().memory();
    const at::Tensor tensor = at::empty({64 << 20}, at::device(at::kCUDA).dtype(at::kByte));
    const control::DeviceMemory after = runtime().memory();
    // A cached block is not split for the sake of less than 1 MiB.
    EXPECT_THAT(after.allocatedBytes - before.allocatedBytes, AllOf(Ge(64 << 20), Le(65 << 20)));
    EXPECT_GE(after.reservedBytes, after.allocatedBytes);
    EXPECT_EQ(after.totalBytes, before.totalBytes);
    EXPECT_LT(after.freeBytes, after.totalBytes);
}

TEST_F(DeviceTest, RefusesASecondDevice) {
    EXPECT_THROW(module().openDevice(1), control::DeviceError);
    EXPECT_EQ(&module().openDevice(0), &runtime());
}

TEST_F(DeviceTest, NcclOfOneRankMovesEveryType) {
    const comm::NcclApi& nccl = *module().nccl;
    comm::NcclUniqueId id{};
    ASSERT_EQ(nccl.uniqueId(&id), comm::kNcclSuccess);
    comm::NcclHandle world;
    ASSERT_EQ(nccl.initialise(&world, 1, &id, 0, "dp0"), comm::kNcclSuccess)
        << nccl.lastError(world);
    const std::vector<std::pair<DataType, at::ScalarType>> types = {
        {DataType::kFloat32, at::kFloat}, {DataType::kBFloat16, at::kBFloat16},
        {DataType::kFloat16, at::kHalf},  {DataType::kInt64, at::kLong},
        {DataType::kByte, at::kByte},     {DataType::kFloat64, at::kDouble}};
    for (const auto& [dtype, scalar] : types) {
        SCOPED_TRACE(at::toString(scalar));
        constexpr std::size_t kCount = 1000;
        const at::Tensor in = onDevice(at::arange(static_cast<std::int64_t>(kCount)).to(scalar));
        const auto moved = [&](const std::function<int(void*)>& collective) {
            const at::Tensor out = at::zeros_like(in);
            EXPECT_EQ(collective(out.data_ptr()), comm::kNcclSuccess) << nccl.lastError(world);
            return at::equal(out, in);
        };
        EXPECT_TRUE(moved([&](void* out) {
            return nccl.allGather(in.data_ptr(), out, kCount, dtype, world, stream());
        }));
        EXPECT_TRUE(moved([&](void* out) {
            return nccl.reduceScatter(in.data_ptr(), out, kCount, dtype, world, stream());
        }));
        for (bool maximum : {false, true}) {
            EXPECT_TRUE(moved([&](void* out) {
                return nccl.allReduce(in.data_ptr(), out, kCount, dtype, maximum, world, stream());
            }));
        }
        EXPECT_TRUE(moved([&](void* out) {
            return nccl.broadcast(in.data_ptr(), out, kCount, dtype, 0, world, stream());
        }));
    }
    int error = -1;
    EXPECT_EQ(nccl.asyncError(world, &error), comm::kNcclSuccess);
    EXPECT_EQ(error, comm::kNcclSuccess);
    synchronize();
    EXPECT_EQ(nccl.destroy(world), comm::kNcclSuccess);
}

/// On a thread of its own, whose operators go to a stream that can be captured.
void onOwnStream(control::DeviceRuntime& runtime, const std::function<void()>& body) {
    std::async(std::launch::async, [&] {
        runtime.computeOn(runtime.createStream(false));
        body();
        runtime.synchronizeAll();
    }).get();
}

TEST_F(DeviceTest, AGraphComputesAnewAtEachLaunchAndItsEventsSayWhen) {
    const control::DeviceEvent from = runtime().createEvent(), to = runtime().createEvent();
    onOwnStream(runtime(), [&] {
        const at::Tensor in = onDevice(at::ones({1000})), out = at::zeros_like(in);
        out.copy_(in * 2);  // libraries and kernels are there
        runtime().releaseCachedMemory();
        runtime().beginCapture();
        runtime().recordInGraph(from, runtime().currentStream());
        out.copy_(in * 2);
        runtime().recordInGraph(to, runtime().currentStream());
        const auto graph = runtime().endCapture();
        for (const float value : {3.0F, 5.0F}) {
            in.fill_(value);
            graph->launch();
            EXPECT_EQ(out[0].item<float>(), 2 * value);
            EXPECT_TRUE(runtime().reached(to));
            EXPECT_GE(runtime().elapsedNs(from, to), 0);
        }
    });
    runtime().destroy(from);
    runtime().destroy(to);
}

TEST_F(DeviceTest, NcclOfOneRankTakesPartInAGraph) {
    const comm::NcclApi& nccl = *module().nccl;
    comm::NcclUniqueId id{};
    ASSERT_EQ(nccl.uniqueId(&id), comm::kNcclSuccess);
    comm::NcclHandle world;
    ASSERT_EQ(nccl.initialise(&world, 1, &id, 0, "dp0"), comm::kNcclSuccess);
    const control::DeviceStream other = runtime().createStream(true);
    const control::DeviceEvent fork = runtime().createEvent(), join = runtime().createEvent();
    onOwnStream(runtime(), [&] {
        const at::Tensor in = onDevice(at::ones({1000})), out = at::zeros_like(in);
        const auto gather = [&] {
            runtime().record(fork, runtime().currentStream());
            runtime().wait(other, fork);
            EXPECT_EQ(nccl.allGather(in.data_ptr(), out.data_ptr(), 1000, DataType::kFloat32, world,
                                     other.handle),
                      comm::kNcclSuccess);
            runtime().record(join, other);
            runtime().wait(runtime().currentStream(), join);
        };
        gather();
        runtime().beginCapture();
        gather();
        const auto graph = runtime().endCapture();
        for (const float value : {3.0F, 5.0F}) {
            in.fill_(value);
            graph->launch();
            EXPECT_TRUE(at::equal(out, in));
        }
    });
    runtime().destroy(fork);
    runtime().destroy(join);
    EXPECT_EQ(nccl.destroy(world), comm::kNcclSuccess);
}

TEST_F(DeviceTest, ACaptureThatFailedCanBeAbandoned) {
    onOwnStream(runtime(), [&] {
        const at::Tensor out = onDevice(at::ones({1000}));
        runtime().beginCapture();
        EXPECT_THROW(runtime().synchronizeAll(), control::DeviceError);
        EXPECT_THROW(static_cast<void>(runtime().endCapture()), control::DeviceError);
        runtime().abandonCapture();
        out.fill_(7);
        EXPECT_EQ(out[0].item<float>(), 7);
        runtime().beginCapture();
        out.fill_(8);
        const auto graph = runtime().endCapture();
        graph->launch();
        EXPECT_EQ(out[0].item<float>(), 8);
    });
}

std::mutex g_mutex;
std::vector<DeviceAllocation> g_allocations;

TEST_F(DeviceTest, TracesAllocationsAndTheLackOfMemory) {
    module().traceAllocations([](const DeviceAllocation& allocation) {
        const std::scoped_lock lock(g_mutex);
        g_allocations.push_back(allocation);
    });
    constexpr std::int64_t kBytes = 5 << 20;
    std::uint64_t address = 0;
    {
        const at::Tensor tensor = at::empty({kBytes}, at::device(at::kCUDA).dtype(at::kByte));
        address = reinterpret_cast<std::uint64_t>(tensor.data_ptr());
    }
    EXPECT_THROW(static_cast<void>(
                     at::empty({std::int64_t{1} << 50}, at::device(at::kCUDA).dtype(at::kByte))),
                 c10::OutOfMemoryError);
    const std::scoped_lock lock(g_mutex);
    const auto told = [&](DeviceAllocationAction action, std::int64_t least) {
        return Contains(AllOf(Field(&DeviceAllocation::action, action),
                              Field(&DeviceAllocation::address, address),
                              Field(&DeviceAllocation::sizeBytes, Ge(least))));
    };
    EXPECT_THAT(g_allocations, told(DeviceAllocationAction::kAllocate, kBytes));
    EXPECT_THAT(g_allocations, told(DeviceAllocationAction::kFreeRequested, kBytes));
    EXPECT_THAT(g_allocations, told(DeviceAllocationAction::kFreeCompleted, kBytes));
    EXPECT_THAT(
        g_allocations,
        Contains(AllOf(Field(&DeviceAllocation::action, DeviceAllocationAction::kOutOfMemory),
                       Field(&DeviceAllocation::sizeBytes, Ge(std::int64_t{1} << 50)),
                       Field(&DeviceAllocation::freeBytes, Ge(0)))));
}

TEST_F(DeviceTest, MeasuresMatrixProducts) {
    for (DataType dtype : {DataType::kBFloat16, DataType::kFloat32})
        EXPECT_GT(module().measureMatmul(1024, 1024, 1024, dtype, true, 0.05), 0);
}

TEST_F(DeviceTest, TracesEachKernelThatRanWithItsContext) {
    OpenDevice& device = openDevice();
    if (!device.tracing.collector) {
        ASSERT_TRUE(device.tracing.diagnostic);
        GTEST_SKIP() << device.tracing.diagnostic->message;
    }
    const at::Tensor values = onDevice(at::ones({1000}));
    const at::Tensor sum = onDevice(at::zeros({1}, at::kDouble));
    capture::LaunchContext context;
    context.step = {7};
    context.layer = {3};
    context.phase = Phase::kForward;
    const capture::DeviceAnnotator& annotator = device.tracing.collector->annotator();
    constexpr std::size_t kLaunches = 100;
    for (std::size_t i = 0; i < kLaunches; ++i) {
        annotator.push(capture::AnnotationStack::kContext, capture::pack(context));
        kernels().sumOfSquares(values.const_data_ptr<float>(), 1000, sum.data_ptr<double>(),
                               stream());
        annotator.pop(capture::AnnotationStack::kContext);
    }
    synchronize();
    device.tracing.collector->flush(true);
    // The decoder hands spans over on its own thread.
    std::vector<SpanEvent> spans;
    for (int i = 0; i < 100 && spans.size() < kLaunches; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        spans = device.sink.named("sumOfSquaresKernel");
        // Other tests' kernels may still come.
        std::erase_if(spans, [&](const SpanEvent& span) { return span.step != context.step; });
    }
    ASSERT_EQ(spans.size(), kLaunches);
    for (const SpanEvent& span : spans) {
        EXPECT_EQ(span.layer, context.layer);
        EXPECT_EQ(span.phase, context.phase);
        EXPECT_GT(span.duration.ns, 0);
    }
    const capture::DeviceCounts counts = device.tracing.collector->counts();
    EXPECT_EQ(counts.dropped, 0u);
    EXPECT_EQ(counts.reversed, 0u);
    // CUPTI's own clocks let single kernels of a burst begin some us before their launch (Kineto,
    // issue 1380); a wrong conversion moves them all.
    EXPECT_LE(counts.early, kLaunches / 10u);
    EXPECT_EQ(sum.item<double>(), 1000.0 * kLaunches);
}

}  // namespace
}  // namespace shardscope::worker
