// Peaks of recorded programs, of drawn calibrations.
#include "app/cli/record/program_peak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace shardscope::cli {
namespace {

using planning::Calibration;
using testing::HasSubstr;
using Said = std::map<std::string, std::string>;

constexpr std::int64_t kDay = 24 * 3600;

Result<std::optional<Calibration>> fourCores() {
    Calibration calibration;
    calibration.cores = 4;
    calibration.unixS = 1'000'000;
    planning::MachineRate rate;
    rate.what.figure = run::MachineFigure::kMatmul;
    rate.what.precision = run::Precision::kFloat32;
    rate.best = 400e9;
    calibration.rates.push_back(rate);
    return std::optional(calibration);
}

run::PeakMeasured peak(const Said& said, std::int32_t ranks = 1,
                       const Result<std::optional<Calibration>>& calibration = fourCores()) {
    return programPeak(calibration, said, ranks, 1'000'000 + 3 * kDay);
}

Said onCpu(const char* threads, const char* type = "fp32") {
    return {{"device", "cpu"}, {"dtype", type}, {"threads", threads}};
}

TEST(ProgramPeak, IsOfTheCoresThatARankComputesWith) {
    EXPECT_DOUBLE_EQ(peak(onCpu("1")).peakFlops.value(), 100e9);
    EXPECT_DOUBLE_EQ(peak(onCpu("4")).peakFlops.value(), 400e9);
    EXPECT_DOUBLE_EQ(peak(onCpu("2"), 2).peakFlops.value(), 200e9);
    // More threads than cores: each rank has its part of them.
    EXPECT_DOUBLE_EQ(peak(onCpu("16")).peakFlops.value(), 400e9);
    EXPECT_DOUBLE_EQ(peak(onCpu("4"), 2).peakFlops.value(), 200e9);
    EXPECT_DOUBLE_EQ(peak(onCpu("1"), 8).peakFlops.value(), 50e9);
    // How many are not known: as many as there are cores for each rank.
    EXPECT_DOUBLE_EQ(peak(onCpu(""), 2).peakFlops.value(), 200e9);
    EXPECT_DOUBLE_EQ(peak(onCpu("-3")).peakFlops.value(), 400e9);
    const std::string source = peak(onCpu("1")).source;
    EXPECT_THAT(source, HasSubstr("measured: products in fp32"));
    EXPECT_THAT(source, HasSubstr("3 days ago, 1 of 4 cores"));
}

TEST(ProgramPeak, IsUnknownWithWhatToDo) {
    const auto why = [](const run::PeakMeasured& unknown) {
        EXPECT_FALSE(unknown.peakFlops);
        return unknown.source;
    };
    EXPECT_THAT(why(peak(onCpu("1"), 1, std::optional<Calibration>())),
                HasSubstr("run `shardscope calibrate`"));
    EXPECT_THAT(why(peak(onCpu("1"), 1, failure(ErrorCode::kUnreadable, "x.json is damaged"))),
                HasSubstr("x.json is damaged"));
    EXPECT_THAT(why(peak(onCpu("1", "bf16"))), HasSubstr("measured no products in bf16"));
    EXPECT_THAT(why(peak(onCpu("1", "complex64"))), HasSubstr("complex64"));
    EXPECT_THAT(why(peak({{"device", "cuda"}, {"dtype", "fp32"}})), HasSubstr("on cuda"));
    EXPECT_THAT(why(peak({})), HasSubstr("ended no optimizer step"));
}

}  // namespace
}  // namespace shardscope::cli
