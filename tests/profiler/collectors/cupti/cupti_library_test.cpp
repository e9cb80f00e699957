// The real libcupti. Neither a driver nor a device is needed: what is tested is that the
// absence of both is told and survived.
#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/cupti_collector.h"
#include "profiler/collectors/cupti/record_reader.h"
#include "tests/profiler/collectors/cupti/kept_device_events.h"

#include <gtest/gtest.h>

namespace shardscope::collectors {
namespace {

TEST(CuptiLibrary, IsTheOneWhoseLayoutsAreKnown) {
    EXPECT_EQ(cuptiLibrary().version(), cupti::kCuptiVersion);
}

TEST(CuptiLibrary, TextsOfErrors) {
    EXPECT_FALSE(cuptiLibrary().errorText(kCuptiUnknown).empty());
    EXPECT_FALSE(cuptiLibrary().errorText(123'456).empty()) << "no such code";
}

TEST(CuptiLibrary, WithoutADriverTheRunGoesOn) {
    KeptDeviceEvents sink;
    const auto started = startCuptiCollector(cuptiLibrary(), capture::DeviceLevel::kKernels, sink);
    if (started.collector != nullptr) GTEST_SKIP() << "this machine has a driver";
    ASSERT_TRUE(started.diagnostic);
    EXPECT_EQ(started.diagnostic->code, "cupti-unavailable");
    EXPECT_NE(started.diagnostic->message.find("999"), std::string::npos);
    EXPECT_NE(started.diagnostic->remedy.find("driver"), std::string::npos);
}

}  // namespace
}  // namespace shardscope::collectors
