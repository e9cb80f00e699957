#include "engine/worker/gpu_speed.h"

#include <gmock/gmock.h>

namespace shardscope::worker {
namespace {

using testing::HasSubstr;

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
