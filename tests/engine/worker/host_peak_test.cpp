// The peak that MFU is measured against, from bursts that were made up.
#include "engine/worker/host_peak.h"

#include "engine/worker/gpu_speed.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace shardscope::worker {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Bursts in turn, round and round; at most `limit` of them, enough after `least`.
HostPeak measure(const std::vector<double>& bursts, std::size_t least, std::size_t limit) {
    std::size_t done = 0;
    return measureHostPeak([&] { return bursts[done++ % bursts.size()]; },
                           [&] { return done >= least; }, [&] { return done >= limit; });
}

TEST(HostPeak, IsTheBestBurstWhateverElseTheMachineDoes) {
    const HostPeak peak = measure({76, 238, 101, 237, 80, 236, 238, 90, 235}, 9, 100);
    EXPECT_EQ(peak.flops, 238);
    EXPECT_TRUE(peak.stable);
}

TEST(HostPeak, GoesOnUntilTheBestAgree) {
    // One good burst in seven: five of them need more rounds than would be enough.
    const HostPeak peak = measure({100, 110, 120, 200, 130, 90, 95}, 3, 1000);
    EXPECT_EQ(peak.flops, 200);
    EXPECT_TRUE(peak.stable);
}

TEST(HostPeak, IsUnsureWhereTheyNeverDo) {
    std::vector<double> bursts;
    for (int i = 0; i < 50; ++i) bursts.push_back(100 + 10 * i);
    const HostPeak peak = measure(bursts, 3, 50);
    EXPECT_FALSE(peak.stable);
    EXPECT_THAT(choosePeak(std::nullopt, peak, "product").source, StartsWith(kUnsurePeak));
}

TEST(HostPeak, KeepsTheBetterOfAnEarlierRunAndThisOne) {
    const HostPeak kept{400e9, true, 1'780'000'000}, slow{250e9, true, 1'780'100'000},
        fast{404e9, true, 1'780'100'000};
    const ChosenPeak old = choosePeak(kept, slow, "product");
    EXPECT_EQ(old.peak, kept);
    EXPECT_THAT(old.source, HasSubstr("kept from 2026-05-28"));
    EXPECT_THAT(old.source, HasSubstr("62 % of it"));
    EXPECT_THAT(old.source, Not(StartsWith(kUnsurePeak)));
    EXPECT_EQ(choosePeak(kept, fast, "product").peak, fast);
    EXPECT_EQ(choosePeak(std::nullopt, slow, "product").peak, slow);
}

TEST(HostPeak, OfCoresThatOtherWorkHadIsNotPlausible) {
    EXPECT_FALSE(isPlausible({240, true, 0}, 220, 2));
    EXPECT_TRUE(isPlausible({430, true, 0}, 220, 2));
    EXPECT_TRUE(isPlausible({64 * 150, true, 0}, 220, 64)) << "clocks fall when all cores work";
}

TEST(HostPeak, TwoRunsThatAgreeAreSure) {
    const HostPeak kept{400e9, false, 1'780'000'000};
    EXPECT_TRUE(choosePeak(kept, {396e9, false, 1'780'100'000}, "product").peak.stable);
    EXPECT_TRUE(choosePeak(kept, {404e9, false, 1'780'100'000}, "product").peak.stable);
    EXPECT_FALSE(choosePeak(kept, {300e9, true, 1'780'100'000}, "product").peak.stable);
}

class Store : public testing::Test {
protected:
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("cache/shardscope/peaks.json");
    PeakStore m_store{m_path};
};

TEST_F(Store, GivesBackWhatWasKeptUntilItIsOld) {
    const HostPeak peak{1.5e11, true, 1'000};
    EXPECT_EQ(m_store.find("a", 2'000), std::nullopt);
    m_store.keep("a", peak);
    m_store.keep("b", {2e11, false, 1'000});
    EXPECT_EQ(m_store.find("a", 2'000), peak);
    EXPECT_EQ(m_store.find("a", 1'000 + kPeakKeptS), peak);
    EXPECT_EQ(m_store.find("a", 1'001 + kPeakKeptS), std::nullopt);
    EXPECT_EQ(m_store.find("a", 999), std::nullopt) << "of the future";
}

TEST_F(Store, IsAsGoodAsEmptyWhenDamaged) {
    std::filesystem::create_directories(m_folder.file("cache/shardscope"));
    for (const char* text : {"", "[]", "{\"a\": 1}", "{\"a\": {\"flops\": \"x\"}}", "{\"a\""}) {
        std::ofstream(m_path) << text;
        EXPECT_EQ(m_store.find("a", 2'000), std::nullopt) << text;
    }
    m_store.keep("a", {1e9, true, 1'000});
    EXPECT_TRUE(m_store.find("a", 2'000));
}

TEST_F(Store, ThatCannotBeWrittenKeepsNothing) {
    const PeakStore nowhere(""), impossible("/proc/shardscope/peaks.json");
    for (const PeakStore& store : {nowhere, impossible}) {
        store.keep("a", {1e9, true, 1'000});
        EXPECT_EQ(store.find("a", 2'000), std::nullopt);
    }
}

TEST_F(Store, KeepsAChoiceBesideAPeak) {
    EXPECT_EQ(m_store.findChoice("a", 2'000), std::nullopt);
    m_store.keep("peak", {1e9, true, 1'000});
    m_store.keepChoice("a", true, 1'000);
    EXPECT_EQ(m_store.findChoice("a", 2'000), true);
    EXPECT_EQ(m_store.findChoice("a", 1'001 + kPeakKeptS), std::nullopt);
    EXPECT_EQ(m_store.findChoice("peak", 2'000), std::nullopt) << "is no choice";
    EXPECT_EQ(m_store.find("a", 2'000), std::nullopt) << "is no peak";
    EXPECT_TRUE(m_store.find("peak", 2'000));
    m_store.keepChoice("a", false, 1'500);
    EXPECT_EQ(m_store.findChoice("a", 2'000), false);
}

TEST(KernelChoice, IsTheFasterAtFirstAndStaysUntilTheOtherIsClearlyFaster) {
    EXPECT_TRUE(takesSecond(std::nullopt, 0.99));
    EXPECT_FALSE(takesSecond(std::nullopt, 1.01));
    EXPECT_FALSE(takesSecond(false, 0.8)) << "by chance as likely as not";
    EXPECT_TRUE(takesSecond(false, 0.7));
    EXPECT_TRUE(takesSecond(true, 1.3));
    EXPECT_FALSE(takesSecond(true, 1.4));
    EXPECT_FALSE(takesSecond(true, std::numeric_limits<double>::infinity())) << "not installed";
}

DeviceFacts h200() {
    DeviceFacts facts;
    facts.name = "NVIDIA H200";
    return facts;
}

TEST(GpuPeak, IsTheVendorsAtTheRunsPrecision) {
    DeviceFacts facts = h200();
    lookUpPeak(run::Precision::kBFloat16, facts);
    ASSERT_TRUE(facts.vendorPeak);
    EXPECT_THAT(facts.vendorPeakSource, HasSubstr("dense bf16, accumulated in fp32"));
    const run::PeakMeasured peak = peakOf(facts);
    EXPECT_EQ(peak.peakFlops, facts.vendorPeak);
    EXPECT_EQ(peak.source, facts.vendorPeakSource);
}

TEST(GpuPeak, WhereNothingIsKnownThereIsAReason) {
    DeviceFacts facts = h200();
    facts.name = "NVIDIA GeForce 256";
    lookUpPeak(run::Precision::kBFloat16, facts);
    EXPECT_FALSE(facts.vendorPeak);
    EXPECT_FALSE(peakOf(facts).peakFlops);
    EXPECT_FALSE(peakOf(facts).source.empty());
}

TEST(GpuPeak, ASliceHasNotThePeakOfTheWhole) {
    DeviceFacts facts = h200();
    facts.mig = true;
    lookUpPeak(run::Precision::kBFloat16, facts);
    EXPECT_FALSE(facts.vendorPeak);
    EXPECT_THAT(facts.vendorPeakSource, HasSubstr("MIG"));
}

TEST(GpuPeak, RanksThatShareADeviceHaveNone) {
    DeviceFacts facts = h200();
    facts.sharedBy = 2;
    lookUpPeak(run::Precision::kBFloat16, facts);
    EXPECT_TRUE(facts.vendorPeak) << "is still the device's";
    EXPECT_FALSE(peakOf(facts).peakFlops);
    EXPECT_THAT(peakOf(facts).source, HasSubstr("shared device"));
}

}  // namespace
}  // namespace shardscope::worker
