#include "profiler/collectors/nvml/nvml_sampler.h"

#include "profiler/collectors/nvml/nvml_thread.h"
#include "tests/profiler/collectors/nvml/fake_nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::collectors {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kTenth = 100'000'000;

class NvmlSamplerTest : public testing::Test {
protected:
    NvmlSamplerTest() { test::fakeNvml() = &m_fake; }
    ~NvmlSamplerTest() override {
        m_sampler.reset();
        EXPECT_EQ(m_fake.gpmBuffers, 0);
    }
    NvmlSampler& sampler() {
        if (!m_sampler) {
            const NvmlDeviceFacts device{
                test::kFakeDevice, "NVIDIA H100 80GB HBM3", "GPU-0123", "0000:17:00.0", {},
                m_fake.mig};
            m_sampler = std::make_unique<NvmlSampler>(m_api, device, 77, m_sink);
        }
        return *m_sampler;
    }
    /// As the thread does it: links in between.
    bool sample() {
        for (int i = 0; i < 3; ++i) sampler().sampleLinks(m_now += kTenth / 4);
        return sampler().sample(m_now += kTenth / 4);
    }

    test::FakeNvml m_fake;
    NvmlApi m_api = test::fakeApi();
    test::KeptSink m_sink;
    std::int64_t m_now = 1'000'000'000;
    std::unique_ptr<NvmlSampler> m_sampler;
};

TEST_F(NvmlSamplerTest, ReadsEveryCounterInItsUnit) {
    EXPECT_TRUE(sample());
    m_fake.fields[83].value = 5'065'000;
    m_fake.fields[74].value = 25'000'000;
    m_fake.fields[269].value = 50'000'000;
    m_fake.fields[270].value = 100'000'000;
    m_fake.fields[197].value = 3000;
    m_fake.fields[198].value = 2500;
    m_fake.fields[138].value = 1000;
    m_fake.fields[139].value = 500;
    EXPECT_TRUE(sample());
    EXPECT_THAT(m_sink.of(NvmlCounter::kPower), ElementsAre(650, 650));
    EXPECT_THAT(m_sink.of(NvmlCounter::kEnergy), ElementsAre(5000, 5065));
    EXPECT_THAT(m_sink.of(NvmlCounter::kSmClock), ElementsAre(1.98e9, 1.98e9));
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryClock), ElementsAre(2.619e9, 2.619e9));
    EXPECT_THAT(m_sink.of(NvmlCounter::kTemperature), ElementsAre(61, 61));
    EXPECT_THAT(m_sink.of(NvmlCounter::kPowerCapped), ElementsAre(DoubleNear(0.25, 1e-9)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kSoftThermal), ElementsAre(DoubleNear(0.5, 1e-9)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kHardThermal), ElementsAre(DoubleNear(1, 1e-9)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kPcieSent), ElementsAre(DoubleNear(20'000, 1e-6)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kPcieReceived), ElementsAre(DoubleNear(5000, 1e-6)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kNvlinkSent), ElementsAre(DoubleNear(10'240'000, 1e-3)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kNvlinkReceived), ElementsAre(DoubleNear(5'120'000, 1e-3)));
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryOfOthers), ElementsAre(500, 500));
    EXPECT_THAT(m_sink.of(NvmlCounter::kSmBusy), ElementsAre(0.98));
    EXPECT_THAT(m_sink.of(NvmlCounter::kOccupancy), ElementsAre(0.45));
    EXPECT_THAT(m_sink.of(NvmlCounter::kTensorCores), ElementsAre(0.615));
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryBandwidth), ElementsAre(0.33));
    EXPECT_EQ(m_sink.lanes.size(), std::size_t{kNvmlCounterCount});
    EXPECT_EQ(m_sink.lanes[laneOf(NvmlCounter::kPower)], "power [W]");
    EXPECT_EQ(m_sink.samples[laneOf(NvmlCounter::kPower)][0].time.ns, 1'100'000'000);
    EXPECT_EQ(m_fake.linkScope, ~0U) << "not all links";
    EXPECT_GE(m_fake.gpmRoom, 400U);
    EXPECT_THAT(m_sink.said, IsEmpty());
}

TEST_F(NvmlSamplerTest, AWrappedPcieCounterGoesOn) {
    m_fake.fields[197].value = 4'294'967'000;
    sample();
    m_fake.fields[197].value = 704;
    sample();
    EXPECT_THAT(m_sink.of(NvmlCounter::kPcieSent), ElementsAre(DoubleNear(10'000, 1e-6)));
    // A 64-bit counter that goes back was reset: no rate can be told.
    m_fake.fields[198] = {NvmlValueType::kUlongLong, 10'000'000'000};
    sample();
    m_fake.fields[198].value = 1000;
    const auto before = m_sink.of(NvmlCounter::kPcieReceived).size();
    sample();
    EXPECT_EQ(m_sink.of(NvmlCounter::kPcieReceived).size(), before);
}

TEST_F(NvmlSamplerTest, PcieIsExactAtItsFastestThoughItWrapsTwiceASample) {
    std::uint64_t sent = 4'000'000'000;
    const auto sampleAll = [&] {
        for (int i = 0; i < 5; ++i) {
            sent += std::uint64_t{60'000'000'000} * 30 / 1000;
            m_fake.fields[197].value = static_cast<std::uint32_t>(sent);
            m_now += 30'000'000;
            i < 4 ? sampler().sampleLinks(m_now) : sampler().sample(m_now);
        }
    };
    for (int i = 0; i < 4; ++i) sampleAll();
    EXPECT_THAT(m_sink.of(NvmlCounter::kPcieSent),
                testing::AllOf(testing::SizeIs(3), testing::Each(DoubleNear(60e9, 1))));
}

TEST_F(NvmlSamplerTest, PcieIsNotToldWhenTheThreadCameTooLate) {
    sample();
    sample();
    const auto before = m_sink.of(NvmlCounter::kPcieSent).size();
    sampler().sample(m_now += 2 * kTenth);  // it may have wrapped twice
    EXPECT_EQ(m_sink.of(NvmlCounter::kPcieSent).size(), before);
    sample();
    EXPECT_EQ(m_sink.of(NvmlCounter::kPcieSent).size(), before + 1);
}

TEST_F(NvmlSamplerTest, AWrappedNvlinkCounterGoesOn) {
    m_fake.fields[138].value = 4'294'966'296;
    sample();
    m_fake.fields[138].value = 1000;
    sample();
    EXPECT_THAT(m_sink.of(NvmlCounter::kNvlinkSent), ElementsAre(DoubleNear(20'480'000, 1e-3)));
    m_fake.fields[138].value = 0;  // reset: a wrap would be 4 TiB in a tenth of a second
    sample();
    EXPECT_EQ(m_sink.of(NvmlCounter::kNvlinkSent).size(), 1U);
}

TEST_F(NvmlSamplerTest, AFieldThatTheDeviceLacksIsNotedOnceAndNotAskedAgain) {
    for (const auto& [id, field] : m_fake.fields) {
        test::FakeNvml fake;
        fake.fields[id].result = kNvmlNotSupported;
        test::fakeNvml() = &fake;
        test::KeptSink sink;
        const NvmlDeviceFacts device{test::kFakeDevice, "H100", "", "", {}, false};
        NvmlSampler one(m_api, device, 77, sink);
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(one.sample(m_now += kTenth / 2));
        ASSERT_EQ(sink.said.size(), 1U) << id;
        EXPECT_EQ(sink.said[0].severity, Severity::kNote);
        EXPECT_EQ(sink.said[0].code, "device-counter-missing");
        EXPECT_THAT(sink.said[0].message, HasSubstr("Not Supported"));
        EXPECT_EQ(fake.asked[id], 1);
        EXPECT_EQ(sink.lanes.size(), std::size_t{kNvmlCounterCount} - 1);
    }
    test::fakeNvml() = &m_fake;
}

TEST_F(NvmlSamplerTest, APassingErrorIsForgivenALastingOneIsNot) {
    m_fake.clockResult = kNvmlTimeout;
    for (int i = 0; i < 9; ++i) sample();
    m_fake.clockResult = kNvmlSuccess;
    sample();
    EXPECT_EQ(m_sink.of(NvmlCounter::kSmClock).size(), 1U);
    EXPECT_THAT(m_sink.said, IsEmpty());
    m_fake.clockResult = kNvmlTimeout;
    for (int i = 0; i < 12; ++i) sample();
    EXPECT_EQ(m_sink.countOf("device-counter-missing"), 2);  // both clocks
    m_fake.clockResult = kNvmlSuccess;
    sample();
    EXPECT_EQ(m_sink.of(NvmlCounter::kSmClock).size(), 1U);
}

TEST_F(NvmlSamplerTest, ALostDeviceIsOneProblemAndTheEnd) {
    EXPECT_TRUE(sample());
    m_fake.everything = kNvmlGpuIsLost;
    EXPECT_FALSE(sample());
    EXPECT_FALSE(sample());
    ASSERT_EQ(m_sink.said.size(), 1U);
    EXPECT_EQ(m_sink.said[0].severity, Severity::kProblem);
    EXPECT_EQ(m_sink.said[0].code, "device-lost");
    EXPECT_THAT(m_sink.said[0].remedy, HasSubstr("Xid"));
    EXPECT_EQ(sampler().energyJoules(), std::nullopt);
}

TEST_F(NvmlSamplerTest, AnOldDriverWithoutMostFunctionsStillGivesWhatItHas) {
    m_api.temperature = nullptr;
    m_api.temperatureOld = [](NvmlDevice, unsigned, unsigned* celsius) {
        *celsius = 44;
        return int{kNvmlSuccess};
    };
    m_api.fieldValues = nullptr;
    m_api.clock = nullptr;
    m_api.clockReasons = nullptr;
    m_api.processes = nullptr;
    m_api.gpmSupport = nullptr;
    m_api.errorString = nullptr;
    EXPECT_TRUE(sample());
    EXPECT_TRUE(sample());
    EXPECT_THAT(m_sink.of(NvmlCounter::kTemperature), ElementsAre(44, 44));
    EXPECT_EQ(m_sink.lanes.size(), 1U);
    // nine fields, two clocks, the processes, and GPM as one
    EXPECT_EQ(m_sink.countOf("device-counter-missing"), 13);
    EXPECT_EQ(sampler().ownMemory(), std::nullopt);
}

TEST_F(NvmlSamplerTest, GpmIsLeftOutBeforeHopperAndPairsSpanATenthOfASecond) {
    m_fake.gpm = false;
    sample();
    sample();
    EXPECT_EQ(m_sink.countOf("device-counter-missing"), 1);
    EXPECT_EQ(m_fake.gpmPairs, 0);
    m_sampler.reset();
    m_fake.gpm = true;
    test::KeptSink sink;
    NvmlSampler dense(m_api, {test::kFakeDevice, "H100", "", "", {}, false}, 77, sink);
    for (int i = 0; i < 10; ++i) dense.sample(m_now += kTenth / 4);
    EXPECT_EQ(m_fake.gpmPairs, 2);
    m_fake.metricResults[5] = kNvmlNotSupported;
    for (int i = 0; i < 8; ++i) dense.sample(m_now += kTenth / 4);
    EXPECT_EQ(sink.of(NvmlCounter::kTensorCores).size(), 2U);
    EXPECT_EQ(sink.of(NvmlCounter::kMemoryBandwidth).size(), 4U);
    EXPECT_EQ(sink.countOf("device-counter-missing"), 1);
}

TEST_F(NvmlSamplerTest, AMigSliceHasTheCountersOfItsDeviceOnlyAndSaysSo) {
    m_fake.mig = true;
    sample();
    sample();
    EXPECT_THAT(m_sink.of(NvmlCounter::kPower), ElementsAre(650, 650));
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryOfOthers), IsEmpty());
    EXPECT_THAT(m_sink.of(NvmlCounter::kTensorCores), IsEmpty());
    ASSERT_EQ(m_sink.said.size(), 1U);
    EXPECT_EQ(m_sink.said[0].code, "mig-counters");
    EXPECT_THAT(m_sink.said[0].message, HasSubstr("whole device"));
    EXPECT_EQ(sampler().ownMemory(), std::nullopt);
}

TEST_F(NvmlSamplerTest, TellsOwnMemoryAndThatOfOthers) {
    EXPECT_EQ(sampler().ownMemory(), Bytes{3000});
    for (unsigned pid = 1000; pid < 1100; ++pid) m_fake.processes.push_back({pid, 1, 0, 0});
    sample();
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryOfOthers), ElementsAre(600));
    // In a container nobody in the list is us.
    m_fake.processes = {{1, 3500, 0, 0}};
    for (int i = 0; i < 12; ++i) sample();
    EXPECT_THAT(m_sink.of(NvmlCounter::kMemoryOfOthers), ElementsAre(600));
    EXPECT_EQ(m_sink.countOf("device-counter-missing"), 1);
    EXPECT_EQ(sampler().ownMemory(), std::nullopt);
}

TEST_F(NvmlSamplerTest, EnergyIsInJoulesAndAbsentWhereItIsNotMeasured) {
    EXPECT_EQ(sampler().energyJoules(), 5000.0);
    m_fake.fields[83].result = kNvmlNotSupported;
    EXPECT_EQ(sampler().energyJoules(), std::nullopt);
}

TEST_F(NvmlSamplerTest, WhatHeldClocksBackIsSaidOnce) {
    m_fake.reasons = 0x1 | 0x2;  // idle, and the user's own setting
    sample();
    EXPECT_THAT(m_sink.said, IsEmpty());
    m_fake.reasons = 0x4 | 0x40;
    sample();
    sample();
    ASSERT_EQ(m_sink.countOf("device-held-back"), 2);
    EXPECT_THAT(m_sink.said[0].message, HasSubstr("power limit"));
    EXPECT_THAT(m_sink.said[1].message, HasSubstr("hardware"));
    // Before its first step already, where an H200 chooses how to do attention.
    EXPECT_EQ(m_sink.said[0].severity, Severity::kNote);
    EXPECT_EQ(m_sink.said[1].severity, Severity::kWarning);
}

TEST_F(NvmlSamplerTest, TheThreadSamplesUntilItGoes) {
    NvmlSampler& shared = sampler();
    {
        const NvmlThread thread(shared, std::chrono::milliseconds(1));
        while (m_sink.batches.load() < 3) std::this_thread::yield();
    }
    EXPECT_EQ(m_sink.of(NvmlCounter::kPower).size(), static_cast<std::size_t>(m_sink.batches));
}

TEST_F(NvmlSamplerTest, TheThreadEndsByItselfWhenTheDeviceIsLost) {
    m_fake.everything = kNvmlGpuIsLost;
    { const NvmlThread thread(sampler(), std::chrono::hours(1)); }
    EXPECT_EQ(m_sink.countOf("device-lost"), 1);
}

}  // namespace
}  // namespace shardscope::collectors
