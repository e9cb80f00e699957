#include "engine/run/theory/device_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <utility>

namespace shardscope::theory {
namespace {

using testing::HasSubstr;

constexpr double kNone = 0;

/// The table of the reference, typed in a second time: TFLOP/s dense, GB/s.
struct Expected {
    const char* device;
    double fp32, tf32, bf16, fp16, fp8, memory, nvlink, pcie;
    /// Columns whose figure is marked, in the order above.
    std::set<int> marked;
};

const Expected kTable[] = {
    {"Tesla V100-SXM2-16GB", 15.7, kNone, kNone, 125, kNone, 900, 300, 32, {}},
    {"Tesla V100-SXM2-32GB", 15.7, kNone, kNone, 125, kNone, 900, 300, 32, {}},
    {"Tesla V100-PCIE-16GB", 14, kNone, kNone, 112, kNone, 900, kNone, 32, {}},
    {"Tesla T4", 8.1, kNone, kNone, 65, kNone, 320, kNone, 32, {}},
    {"NVIDIA A10", 31.2, 62.5, 125, 125, kNone, 600, kNone, 64, {2, 3}},
    {"NVIDIA A10G", 31.2, 62.5, 125, 125, kNone, 600, kNone, 64, {2, 3}},
    {"NVIDIA A100-SXM4-40GB", 19.5, 156, 312, 312, kNone, 1555, 600, 64, {}},
    {"NVIDIA A100-PCIE-40GB", 19.5, 156, 312, 312, kNone, kNone, kNone, 64, {}},
    {"NVIDIA A100-SXM4-80GB", 19.5, 156, 312, 312, kNone, 2039, 600, 64, {}},
    {"NVIDIA A100 80GB PCIe", 19.5, 156, 312, 312, kNone, 1935, 600, 64, {5}},
    {"NVIDIA L4", 30.3, 60, 121, 121, 242, 300, kNone, 64, {0, 1, 4, 5}},
    {"NVIDIA L40S", 91.6, 183, 362, 362, 733, 864, kNone, 64, {}},
    {"NVIDIA GeForce RTX 3090", 35.6, 35.6, 71, 71, kNone, 936, 112, 64, {2, 3, 5, 6}},
    {"NVIDIA GeForce RTX 4090", 82.6, 82.6, 165.2, 165.2, 330.3, 1008, kNone, 64, {}},
    {"NVIDIA GeForce RTX 5090", 104.8, 104.8, 209.5, 209.5, 419, 1792, kNone, 128, {0, 1, 4}},
    {"NVIDIA H100 PCIe", 51, 378, 756, 756, 1513, 2000, 600, 128, {6}},
    {"NVIDIA H100 NVL", 60, 418, 835, 835, 1671, 3900, 600, 128, {0, 1, 4, 5, 6}},
    {"NVIDIA H100 80GB HBM3", 67, 494.5, 989, 989, 1979, 3350, 900, 128, {}},
    {"NVIDIA H200", 67, 494.5, 989, 989, 1979, 4800, 900, 128, {}},
    {"NVIDIA H200 NVL", kNone, kNone, 836, 836, kNone, kNone, kNone, 128, {}},
    {"NVIDIA GH200 480GB", 67, 494.5, 989, 989, 1979, 4000, 900, 128, {}},
    {"NVIDIA GH200 144G HBM3e", 67, 494.5, 989, 989, 1979, 4800, 900, 128, {}},
    {"NVIDIA B200", 80, 1125, 2250, 2250, 4500, 8000, 1800, 128, {}},
    {"NVIDIA GB200", 80, 1250, 2500, 2500, 5000, 8000, 1800, kNone, {}},
    {"NVIDIA GB300", 80, 1250, 2500, 2500, 5000, 8000, 1800, kNone, {}},
    {"AMD Instinct MI250X",
     47.9 / 2,
     kNone,
     191.5,
     191.5,
     kNone,
     3277 / 2.0,
     800 / 2.0,
     64,
     {0, 2, 3, 5, 6, 7}},
    {"AMD Instinct MI300X", 163.4, 653.7, 1307, 1307, 2615, 5300, 896, 128, {}},
};

template <class Value>
void expectCell(const PeakLookup<Value>& found, double figure, double expected, bool marked,
                const std::string& where) {
    SCOPED_TRACE(where);
    if (expected == kNone) {
        EXPECT_FALSE(found.value);
        EXPECT_THAT(found.reason, HasSubstr("has no"));
        return;
    }
    ASSERT_TRUE(found.value) << found.reason;
    EXPECT_NEAR(figure, expected, expected * 1e-12);
    EXPECT_EQ(!found.value->mark.empty(), marked) << found.value->mark;
    EXPECT_GE(found.value->source.size(), 10U);
    EXPECT_EQ(found.reason, "");
}

TEST(DevicePeaks, EveryCellIsTheReferences) {
    std::set<std::string_view> rows;
    for (const Expected& row : kTable) {
        rows.insert(peakRow(row.device));
        const std::pair<const char*, double> types[] = {{"fp32", row.fp32},
                                                        {"tf32", row.tf32},
                                                        {"bf16", row.bf16},
                                                        {"fp16", row.fp16},
                                                        {"fp8", row.fp8}};
        int column = 0;
        for (const auto& [dtype, expected] : types) {
            const auto peak = devicePeak(row.device, dtype);
            expectCell(peak, peak.value ? peak.value->flops * 1e-12 : 0, expected,
                       row.marked.contains(column++), std::string(row.device) + " " + dtype);
            if (!peak.value) continue;
            EXPECT_TRUE(peak.value->dense);
            EXPECT_EQ(peak.value->accumulate, "fp32");
        }
        const std::pair<PeakLookup<PeakBandwidth>, double> links[] = {
            {memoryBandwidth(row.device), row.memory},
            {nvlinkBandwidth(row.device), row.nvlink},
            {pcieBandwidth(row.device), row.pcie}};
        for (const auto& [found, expected] : links) {
            expectCell(found, found.value ? found.value->bytesPerSecond * 1e-9 : 0, expected,
                       row.marked.contains(column), row.device + std::to_string(column));
            ++column;
        }
    }
    const auto known = knownDevices();
    EXPECT_EQ(rows, std::set<std::string_view>(known.begin(), known.end()))
        << "a row without a test";
}

TEST(DevicePeaks, MarksSayWhy) {
    EXPECT_THAT(devicePeak("NVIDIA A10", "bf16").value->mark, HasSubstr("disputed"));
    EXPECT_EQ(devicePeak("NVIDIA L4", "fp8").value->mark, "not checked against the data sheet");
    EXPECT_THAT(devicePeak("NVIDIA GeForce RTX 3090", "fp16").value->mark, HasSubstr("142"));
    EXPECT_THAT(devicePeak("AMD Instinct MI250X", "bf16").value->mark, HasSubstr("GCD"));
}

// The bug class of "104 % MFU": sparse figures and somebody else's device.
TEST(DevicePeaks, NeverGivesSparseFigures) {
    EXPECT_EQ(devicePeak("NVIDIA H100 80GB HBM3", "bf16").value->flops, 989e12);
    EXPECT_EQ(devicePeak("NVIDIA H200", "bf16").value->flops, 989e12);
    EXPECT_EQ(devicePeak("NVIDIA B200", "fp8").value->flops, 4500e12);
    EXPECT_EQ(devicePeak("AMD Instinct MI300X", "fp16").value->flops, 1307e12);
}

TEST(DevicePeaks, ASliceALaptopAndAStrangerHaveNoPeakButAReason) {
    for (const char* slice :
         {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb"}) {
        const auto peak = devicePeak(slice, "bf16");
        EXPECT_FALSE(peak.value);
        EXPECT_THAT(peak.reason, HasSubstr("slice"));
        EXPECT_FALSE(memoryBandwidth(slice).value);
    }
    const auto laptop = devicePeak("NVIDIA GeForce RTX 4090 Laptop GPU", "bf16");
    EXPECT_FALSE(laptop.value);
    EXPECT_THAT(laptop.reason, HasSubstr("laptop"));
    for (const char* stranger :
         {"NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 96GB HBM2e",
          "NVIDIA A100-SXM-64GB", "NVIDIA H800", "NVIDIA L40", "GRID A100-10C",
          "AMD Instinct MI250X / MI250", "llvmpipe"}) {
        const auto peak = devicePeak(stranger, "bf16");
        EXPECT_FALSE(peak.value) << stranger;
        EXPECT_THAT(peak.reason, HasSubstr(stranger));
        EXPECT_EQ(peakRow(stranger), "");
    }
    EXPECT_THAT(devicePeak("NVIDIA H100", "bf16").reason, HasSubstr("form factor"));
    EXPECT_THAT(devicePeak("", "bf16").reason, HasSubstr("no name"));
    EXPECT_THAT(devicePeak("NVIDIA H200", "int8").reason, HasSubstr("int8"));
}

/// Sheets' gigabytes; what a row's devices differ in has none.
TEST(DevicePeaks, HaveTheMemoryOfTheirSheets) {
    const std::pair<const char*, double> known[] = {{"NVIDIA H200", 141},
                                                    {"NVIDIA H100 80GB HBM3", 80},
                                                    {"NVIDIA A100-SXM4-40GB", 40},
                                                    {"NVIDIA A100 80GB PCIe", 80},
                                                    {"NVIDIA L40S", 48},
                                                    {"NVIDIA GeForce RTX 4090", 24},
                                                    {"NVIDIA B200", 180},
                                                    {"AMD Instinct MI300X", 192},
                                                    {"Tesla T4", 16}};
    for (const auto& [device, gigabytes] : known) {
        const auto capacity = deviceCapacity(device);
        ASSERT_TRUE(capacity.value) << device << ": " << capacity.reason;
        EXPECT_DOUBLE_EQ(capacity.value->bytes, gigabytes * 1e9) << device;
        EXPECT_FALSE(capacity.value->source.empty()) << device;
    }
    EXPECT_FALSE(deviceCapacity("Tesla V100-SXM2-16GB").value) << "or 32";
    EXPECT_THAT(deviceCapacity("Tesla V100-SXM2-16GB").reason, HasSubstr("size of memory"));
    EXPECT_FALSE(deviceCapacity("NVIDIA GB200").value) << "or of a GB300";
}

TEST(DevicePeaks, AreFoundByTheTablesOwnNamesToo) {
    for (const std::string_view name : knownDevices()) EXPECT_EQ(peakRow(name), name);
    EXPECT_EQ(peakRow("h100 sxm"), "H100 SXM");
    EXPECT_FALSE(deviceCapacity("H100").value) << "of which form?";
}

}  // namespace
}  // namespace shardscope::theory
