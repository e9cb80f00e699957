#include "engine/training/micro_step_graphs.h"

#include "tests/engine/torch/rank_threads.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

namespace shardscope::training {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// One rank, whose micro-steps count how often they were queued and how often they ran.
class MicroStepGraphsTest : public testing::Test {
protected:
    MicroStepGraphsTest() {
        test::fakeNccl().uniqueId(&m_id);
        m_device.computeOn(m_device.createStream(false));
        m_communicator = comm::makeNcclCommunicator(test::fakeSetup(m_device, m_clock, m_id, 0, 1));
        m_shard = m_communicator->allocate(1, DataType::kFloat32);
        m_graphs.emplace(m_device, *m_communicator, nullptr);
    }

    void compute(std::function<void()> work) {
        test::FakeDevice::queue(m_device.currentStream().handle, std::move(work));
    }
    void step(std::int32_t number, std::size_t microSteps, double constant = 1) {
        for (std::size_t i = 0; i < microSteps; ++i) {
            const std::size_t index = static_cast<std::size_t>(number) * microSteps + i;
            m_graphs->run(number, {i == 0, i + 1 == microSteps, index % 2}, constant, [this] {
                ++m_queued;
                m_communicator->allGather(m_shard, &m_gathered, {}).wait();
                compute([this] { ++m_ran; });
            });
        }
    }
    int ran() {
        m_device.synchronizeAll();
        return m_ran;
    }

    comm::NcclUniqueId m_id{};
    test::FakeDevice m_device;
    control::DeviceClock m_clock{m_device};
    std::unique_ptr<comm::Communicator> m_communicator;
    comm::SymmetricBuffer m_shard;
    float m_gathered = 0;
    std::atomic<int> m_ran{0};
    int m_queued = 0;
    std::optional<MicroStepGraphs> m_graphs;
};

TEST_F(MicroStepGraphsTest, AreQueuedInTheFirstStepAndOnceForEachKindAndBuffer) {
    step(4, 1);  // a resumed run's
    EXPECT_EQ(m_queued, 1);
    for (int i = 5; i < 15; ++i) step(i, 1);
    EXPECT_EQ(m_queued, 3);
    EXPECT_EQ(ran(), 11);
}

TEST_F(MicroStepGraphsTest, TellFirstMiddleAndLastApart) {
    constexpr std::size_t kMicroSteps = 5;
    step(0, kMicroSteps);
    step(1, kMicroSteps);
    EXPECT_EQ(m_queued, 9) << "first, last, and two between, one of them twice";
    step(2, kMicroSteps);
    EXPECT_EQ(m_queued, 11) << "first and last in the other buffer";
    step(3, kMicroSteps);
    EXPECT_EQ(m_queued, 11);
    EXPECT_EQ(ran(), 20);
}

TEST_F(MicroStepGraphsTest, AreCapturedAnewWhenWhatTheyWereCapturedWithChanges) {
    for (int i = 0; i < 4; ++i) step(i, 1, 1024);
    EXPECT_EQ(m_queued, 3);
    for (int i = 4; i < 8; ++i) step(i, 1, 512);
    EXPECT_EQ(m_queued, 5);
    EXPECT_EQ(ran(), 8);
}

TEST_F(MicroStepGraphsTest, ThatCannotBeCapturedEndWithASentence) {
    step(0, 1);
    EXPECT_THAT(
        [&] {
            m_graphs->run(1, {true, true, 0}, 1, [this] { m_device.synchronizeAll(); });
        },
        ThrowsMessage<std::runtime_error>(
            AllOf(HasSubstr("the graph of the only micro-step could not be captured: waiting for "
                            "the device: operation not permitted"),
                  HasSubstr("leave --graphs out"))));
    // The device is of use to who tells what has happened.
    EXPECT_EQ(ran(), 1);
}

TEST_F(MicroStepGraphsTest, ALostPeerIsToldAsSuch) {
    step(0, 1);
    m_device.synchronizeAll();
    m_communicator->abort();
    EXPECT_THROW(step(1, 1), comm::CommunicationError);
}

TEST_F(MicroStepGraphsTest, GoWithoutWaitingForADeviceThatHangs) {
    std::promise<void> goOn;
    step(0, 1);
    step(1, 1);
    m_device.synchronizeAll();
    compute([hang = goOn.get_future().share()] { hang.wait(); });
    step(2, 1);
    m_graphs.reset();
    goOn.set_value();
    EXPECT_EQ(ran(), 3);
}

TEST(MicroStepGraphs, NeedACommunicatorThatCanBeCaptured) {
    test::runRanks(1, [](comm::Communicator& c) {
        test::FakeDevice device;
        EXPECT_THAT([&] { const MicroStepGraphs graphs(device, c, nullptr); },
                    ThrowsMessage<std::runtime_error>(HasSubstr("leave --graphs out")));
    });
}

}  // namespace
}  // namespace shardscope::training
