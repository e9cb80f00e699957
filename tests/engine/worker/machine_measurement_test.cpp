// What a host is measured to do: every figure told, in its unit; nothing after a wish to stop.
#include "engine/worker/measuring/machine_measurement.h"

#include "engine/worker/host_peak.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/support/temporary_folder.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::worker {
namespace {

using run::MachineFigure;
using run::Precision;

struct Told {
    run::MeasuredFigure figure;
    double value = 0;
};

class MachineMeasured : public testing::Test {
protected:
    MachineMeasured() { ::setenv("XDG_CACHE_HOME", m_folder.path().c_str(), 1); }

    MachineParts parts() {
        MachineParts parts;
        parts.host = 3;
        parts.samples = 2;
        parts.seconds = 0.02;
        parts.freeBytes = 64'000'000;
        parts.tell = [this](const run::MeasuredFigure& figure, double value) {
            told.push_back({figure, value});
        };
        parts.warn = [this](const std::string& sentence) { warned.push_back(sentence); };
        parts.stopWanted = [] { return false; };
        return parts;
    }
    std::set<MachineFigure> figures() const {
        std::set<MachineFigure> all;
        for (const Told& each : told) all.insert(each.figure.figure);
        return all;
    }

    std::vector<Told> told;
    std::vector<std::string> warned;
    test::TemporaryFolder m_folder;
};

TEST_F(MachineMeasured, AHostTellsProductsOfEveryTypeMemoryAndLaunches) {
    MachineMeasurement(parts()).run();
    EXPECT_EQ(figures(), (std::set{MachineFigure::kMatmul, MachineFigure::kTriad,
                                   MachineFigure::kCopy, MachineFigure::kLaunch}));
    std::set<Precision> types;
    for (const Told& each : told) {
        EXPECT_GT(each.value, 0) << run::metricName(each.figure);
        EXPECT_EQ(each.figure.host, 3);
        if (each.figure.figure != MachineFigure::kMatmul) continue;
        types.insert(each.figure.precision);
        EXPECT_GT(each.figure.rows, 0);
    }
    EXPECT_EQ(types, (std::set{Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}));
    // For MFU of runs to come.
    EXPECT_TRUE(std::filesystem::exists(peakStorePath()));
}

/// With a device whose memory is the host's, products by what the module says.
TEST_F(MachineMeasured, ADeviceTellsItsCopiesToo) {
    test::FakeDevice device;
    MachineParts gpu = parts();
    gpu.runtime = &device;
    gpu.deviceProduct = [](std::int64_t, std::int64_t, std::int64_t, Precision precision, double) {
        return precision == Precision::kTf32 ? 2e12 : 1e12;
    };
    MachineMeasurement(gpu).run();
    EXPECT_EQ(figures(), (std::set{MachineFigure::kMatmul, MachineFigure::kTriad,
                                   MachineFigure::kCopy, MachineFigure::kToDevice,
                                   MachineFigure::kFromDevice, MachineFigure::kLaunch}));
    bool tf32 = false;
    for (const Told& each : told)
        tf32 |= each.figure.precision == Precision::kTf32 && each.value == 2e12;
    EXPECT_TRUE(tf32);
    EXPECT_FALSE(std::filesystem::exists(peakStorePath()));  // that is about CPUs
}

TEST_F(MachineMeasured, OneThreadHasNobodyToWaitFor) {
    MachineMeasurement(parts()).run();
    EXPECT_TRUE(warned.empty());
}

/// More threads than any machine has cores.
TEST_F(MachineMeasured, SaysThatThreadsHadNoCoresOfTheirOwn) {
    MachineParts many = parts();
    many.threads = 4 * static_cast<int>(std::thread::hardware_concurrency());
    MachineMeasurement(many).run();
    at::set_num_threads(1);
    ASSERT_EQ(warned.size(), 1u);
    EXPECT_THAT(warned.front(), testing::HasSubstr("other work had some of the cores"));
}

TEST_F(MachineMeasured, StopsWhenAskedTo) {
    MachineParts stopped = parts();
    stopped.stopWanted = [] { return true; };
    MachineMeasurement(stopped).run();
    EXPECT_TRUE(told.empty());
}

TEST_F(MachineMeasured, ArraysAreLargerThanTheCacheAndNeverThanTheMemory) {
    constexpr std::int64_t kMega = 1'000'000, kPlenty = 100'000 * kMega;
    EXPECT_EQ(measuredArrayBytes(32 * kMega, kPlenty), 128 * kMega);
    EXPECT_EQ(measuredArrayBytes(0, kPlenty), 64 * kMega);
    EXPECT_EQ(measuredArrayBytes(900 * kMega, kPlenty), 1'000 * kMega);
    EXPECT_EQ(measuredArrayBytes(32 * kMega, 160 * kMega), 10 * kMega);
    EXPECT_EQ(measuredArrayBytes(32 * kMega, 0), 4);
}

class NormsMeasured : public MachineMeasured {};

TEST_F(NormsMeasured, EveryWayForwardAndBackwardAtEachShape) {
    for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16}) {
        told.clear();
        NormMeasurement(parts(), precision).run({{64, 32}, {16, 128}});
        std::set<MachineFigure> norms;
        std::set<std::int64_t> widths;
        for (const Told& each : told) {
            EXPECT_GT(each.value, 0) << run::metricName(each.figure);
            EXPECT_EQ(each.figure.precision, precision);
            EXPECT_EQ(each.figure.rows * each.figure.columns, 2048);
            norms.insert(each.figure.figure);
            widths.insert(each.figure.columns);
        }
        EXPECT_EQ(norms.size(), 8u);
        EXPECT_EQ(widths, (std::set<std::int64_t>{32, 128}));
    }
    EXPECT_TRUE(warned.empty());
}

TEST_F(NormsMeasured, WhatHasNoRoomIsLeftOutAndSaid) {
    NormMeasurement(parts(), Precision::kFloat32).run({{1'000'000, 1024}, {64, 32}});
    ASSERT_EQ(warned.size(), 1u);
    EXPECT_THAT(warned.front(),
                testing::HasSubstr("norms of 1000000 x 1024 were not measured, out of memory"));
    for (const Told& each : told) EXPECT_EQ(each.figure.rows, 64);
    EXPECT_FALSE(told.empty());
}

TEST_F(NormsMeasured, NothingAfterAWishToStop) {
    MachineParts stopping = parts();
    stopping.stopWanted = [] { return true; };
    NormMeasurement(stopping, Precision::kFloat32).run({{64, 32}});
    EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace shardscope::worker
