// The fake refuses what CUDA refuses, so that what passes on it has a chance on a GPU.
#include "tests/engine/torch/fake_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace shardscope {
namespace {

using control::DeviceError;
using control::DeviceEvent;
using control::DeviceStream;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A device whose thread computes on a stream of its own.
class FakeDeviceTest : public testing::Test {
protected:
    FakeDeviceTest() { device.computeOn(compute); }

    void queue(DeviceStream stream, std::function<void()> work) {
        test::FakeDevice::queue(stream.handle, std::move(work));
    }
    /// Of the compute stream.
    void drain() {
        const DeviceEvent end = device.createEvent();
        device.record(end, compute);
        device.synchronize(end);
        device.destroy(end);
    }
    /// `to` waits for what `from` has.
    void order(DeviceStream from, DeviceStream to) {
        const DeviceEvent event = device.createEvent();
        device.record(event, from);
        device.wait(to, event);
    }
    void expectRefused(const std::function<void()>& call, const std::string& why) {
        EXPECT_THAT(call, ThrowsMessage<DeviceError>(HasSubstr(why)));
    }
    void expectSpoilt() {
        expectRefused([&] { static_cast<void>(device.endCapture()); }, "(901)");
        device.abandonCapture();
    }

    test::FakeDevice device;
    const DeviceStream compute = device.createStream(false), other = device.createStream(true);
};

TEST_F(FakeDeviceTest, RunsWhatWasCapturedAtEachLaunchAndNotBefore) {
    std::atomic<int> runs{0};
    device.beginCapture();
    queue(compute, [&] { ++runs; });
    const auto graph = device.endCapture();
    drain();
    EXPECT_EQ(runs, 0);
    graph->launch();
    graph->launch();
    drain();
    EXPECT_EQ(runs, 2);
}

TEST_F(FakeDeviceTest, RunsBranchesInTheOrderOfTheirEvents) {
    std::vector<int> order;
    device.beginCapture();
    queue(compute, [&] { order.push_back(1); });
    this->order(compute, other);
    queue(other, [&] { order.push_back(2); });
    this->order(other, compute);
    queue(compute, [&] { order.push_back(3); });
    const auto graph = device.endCapture();
    for (int i = 0; i < 50; ++i) graph->launch();
    drain();
    ASSERT_EQ(order.size(), 150U);
    for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], 1 + static_cast<int>(i % 3));
}

/// What the stream itself does outside is not waited for.
TEST_F(FakeDeviceTest, BranchesOfOtherStreamsRunBesideThose) {
    device.beginCapture();
    order(compute, other);
    queue(other, [] {});
    order(other, compute);
    const auto graph = device.endCapture();
    std::promise<void> goOn;
    // Of its own: the stream may come to it when this test has ended.
    queue(other, [turn = goOn.get_future().share()] { turn.wait(); });
    graph->launch();
    drain();
    goOn.set_value();
}

TEST_F(FakeDeviceTest, AnEventInAGraphAnswersForTheLaunchBeforeUntilItIsReached) {
    const DeviceEvent inside = device.createEvent(), start = device.createEvent();
    std::promise<void> first, second;
    std::vector<std::future<void>> turns;
    turns.push_back(first.get_future());
    turns.push_back(second.get_future());
    std::size_t turn = 0;
    device.beginCapture();
    queue(compute, [&] { turns[turn++].wait(); });
    device.recordInGraph(inside, compute);
    const auto graph = device.endCapture();
    EXPECT_TRUE(device.reached(inside)) << "never recorded";
    device.record(start, compute);
    expectRefused([&] { static_cast<void>(device.elapsedNs(start, inside)); }, "(600)");
    graph->launch();
    first.set_value();
    drain();
    EXPECT_GE(device.elapsedNs(start, inside), 0);
    device.record(start, compute);
    graph->launch();
    EXPECT_TRUE(device.reached(inside)) << "of the first launch";
    second.set_value();
    drain();
    EXPECT_GE(device.elapsedNs(start, inside), 0) << "of the second";
}

TEST_F(FakeDeviceTest, RefusesToCaptureTheDefaultStreamOrTwice) {
    device.computeOn({});
    expectRefused([&] { device.beginCapture(); }, "default stream");
    device.computeOn(compute);
    device.beginCapture();
    expectRefused([&] { device.beginCapture(); }, "already");
    device.abandonCapture();
}

TEST_F(FakeDeviceTest, RefusesToWaitInACaptureForWhatWasBefore) {
    const DeviceEvent before = device.createEvent();
    device.record(before, other);
    device.beginCapture();
    expectRefused([&] { device.wait(compute, before); }, "(905)");
    expectSpoilt();
}

TEST_F(FakeDeviceTest, RefusesToAskForWhatACaptureRecorded) {
    const DeviceEvent inside = device.createEvent();
    device.beginCapture();
    device.record(inside, compute);
    std::thread([&] {
        expectRefused([&] { static_cast<void>(device.reached(inside)); }, "(907)");
    }).join();
    expectSpoilt();
    expectRefused([&] { static_cast<void>(device.reached(inside)); }, "(907)");
    expectRefused([&] { device.wait(other, inside); }, "(907)");
    device.record(inside, compute);
    device.synchronize(inside);
}

TEST_F(FakeDeviceTest, RefusesCallsThatWaitOrAskOfTheCapturingThreadOnly) {
    const DeviceEvent before = device.createEvent();
    device.record(before, compute);
    device.synchronize(before);
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { static_cast<void>(device.reached(before)); },
             [&] { device.synchronize(before); },
             [&] { static_cast<void>(device.elapsedNs(before, before)); },
             [&] { device.releaseCachedMemory(); },
             [&] { device.synchronizeAll(); },
         }) {
        device.beginCapture();
        expectRefused(call, "(900)");
        expectSpoilt();
    }
    device.beginCapture();
    std::thread([&] {
        EXPECT_TRUE(device.reached(before));
        device.synchronize(before);
    }).join();
    EXPECT_NE(device.endCapture(), nullptr);
}

TEST_F(FakeDeviceTest, RefusesToWaitForTheWholeDeviceOnAnyThread) {
    device.beginCapture();
    std::thread([&] { expectRefused([&] { device.synchronizeAll(); }, "(900)"); }).join();
    expectSpoilt();
}

TEST_F(FakeDeviceTest, RefusesToEndWhileABranchIsNotJoined) {
    device.beginCapture();
    order(compute, other);
    queue(other, [] {});
    order(other, compute);
    queue(other, [] {});
    expectRefused([&] { static_cast<void>(device.endCapture()); }, "(904)");
    device.abandonCapture();
    bool ran = false;
    queue(other, [&] { ran = true; });
    device.synchronizeAll();
    EXPECT_TRUE(ran) << "the stream runs its work again";
}

TEST_F(FakeDeviceTest, RefusesToEndOnAnotherThread) {
    device.beginCapture();
    std::thread([&] {
        expectRefused([&] { static_cast<void>(device.endCapture()); }, "(908)");
    }).join();
    device.abandonCapture();
}

}  // namespace
}  // namespace shardscope
