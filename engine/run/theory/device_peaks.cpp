#include "engine/run/theory/device_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace shardscope::theory {
namespace {

/// One figure; 0: the device or the sheet has none.
struct Cell {
    double figure = 0;
    const char* mark = "";
    const char* source = nullptr;  ///< null: the row's
    const char* accumulate = "fp32";
};

constexpr const char* kUnchecked = "not checked against the data sheet";

/// TFLOP/s dense; GB/s, links in both directions summed; GB.
struct PeakRow {
    std::string_view name;
    const char* source;
    Cell fp32, tf32, bf16, fp16, fp8;
    Cell memory, nvlink, pcie;
    Cell capacity = {};  ///< GB; of several sizes none
};

constexpr const char* kVolta =
    "volta-v100-datasheet-update-us-1165301-r5.pdf, via mosaicml/composer"
    " composer/callbacks/speed_monitor.py";
constexpr const char* kTuring =
    "t4-tensor-core-datasheet-951643.pdf, via mosaicml/composer"
    " composer/callbacks/speed_monitor.py";
constexpr const char* kA10 =
    "a10-datasheet.pdf, via mosaicml/composer composer/callbacks/speed_monitor.py";
constexpr const char* kAmpere = "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf";
constexpr const char* kNanochat = "nanochat nanochat/common.py";
constexpr const char* kHopper =
    "nvidia-tensor-core-gpu-datasheet, via Lightning fabric/utilities/throughput.py";
constexpr const char* kH200 = "hpc-datasheet-sc23-h200, via mosaicml/composer";
constexpr const char* kStas = "stas00/ml-engineering compute/accelerator";
constexpr const char* kA10Dispute = "disputed: llm.c PR 621 argues for about 62 from clocks";
constexpr const char* kCard = "half of the card's figure: a GCD is a device of its own";

constexpr std::array<PeakRow, 24> kRows{{
    {"V100 SXM2", kVolta, {15.7}, {}, {}, {125}, {}, {900}, {300}, {32}},
    {"V100 PCIe", kVolta, {14}, {}, {}, {112}, {}, {900}, {}, {32}},
    {"T4", kTuring, {8.1}, {}, {}, {65}, {}, {320}, {}, {32}, {16}},
    {"A10",
     kA10,
     {31.2},
     {62.5},
     {125, kA10Dispute},
     {125, kA10Dispute},
     {},
     {600},
     {},
     {64},
     {24}},
    {"A100 40GB SXM", kAmpere, {19.5}, {156}, {312}, {312}, {}, {1555}, {600}, {64}, {40}},
    {"A100 40GB PCIe", kAmpere, {19.5}, {156}, {312}, {312}, {}, {}, {}, {64}, {40}},
    {"A100 80GB SXM", kAmpere, {19.5}, {156}, {312}, {312}, {}, {2039}, {600}, {64}, {80}},
    {"A100 80GB PCIe",
     kAmpere,
     {19.5},
     {156},
     {312},
     {312},
     {},
     {1935, kUnchecked},
     {600},
     {64},
     {80}},
    {"L4",
     kNanochat,
     {30.3, kUnchecked},
     {60, kUnchecked},
     {121},
     {121},
     {242, kUnchecked},
     {300, kUnchecked},
     {},
     {64},
     {24}},
    {"L40S",
     "nvidia.com/l40s via stas00/ml-engineering; llmq src/utilities/sol.cpp",
     {91.6},
     {183},
     {362},
     {362},
     {733},
     {864},
     {},
     {64},
     {48}},
    {"RTX 3090",
     "llmq src/utilities/sol.cpp, nanochat nanochat/common.py",
     {35.6},
     {35.6},
     {71, "llm.c has 78.1, from clocks and cores"},
     {71, "142 where fp16 accumulates in fp16; llm.c has 78.1, from clocks and cores"},
     {},
     {936, kUnchecked},
     {112, kUnchecked},
     {64},
     {24}},
    {"RTX 4090",
     "Ada whitepaper, via llm.c llmc/mfu.h",
     {82.6},
     {82.6},
     {165.2},
     {165.2},
     {330.3},
     {1008},
     {},
     {64},
     {24}},
    {"RTX 5090",
     kNanochat,
     {104.8, kUnchecked},
     {104.8, kUnchecked},
     {209.5},
     {209.5},
     {419, kUnchecked},
     {1792},
     {},
     {128},
     {32}},
    {"H100 PCIe",
     kHopper,
     {51},
     {378},
     {756},
     {756},
     {1513},
     {2000},
     {600, "by bridge; not checked against the data sheet"},
     {128},
     {80}},
    {"H100 NVL",
     "torchtitan torchtitan/tools/utils.py",
     {60, kUnchecked},
     {418, kUnchecked},
     {835},
     {835},
     {1671, kUnchecked},
     {3900, kUnchecked},
     {600, kUnchecked},
     {128},
     {94}},
    {"H100 SXM", kHopper, {67}, {494.5}, {989}, {989}, {1979}, {3350}, {900}, {128}, {80}},
    {"H200 SXM", kH200, {67}, {494.5}, {989}, {989}, {1979}, {4800}, {900}, {128}, {141}},
    {"H200 NVL", kH200, {}, {}, {836}, {836}, {}, {}, {}, {128}, {141, kUnchecked}},
    {"GH200 96GB", kStas, {67}, {494.5}, {989}, {989}, {1979}, {4000}, {900}, {128}, {96}},
    {"GH200 141GB", kStas, {67}, {494.5}, {989}, {989}, {1979}, {4800}, {900}, {128}, {141}},
    {"B200",
     "dgx-b200-datasheet, via stas00/ml-engineering; glennklockwood.com",
     {80},
     {1125},
     {2250},
     {2250},
     {4500},
     {8000},
     {1800},
     {128},
     {180}},
    {"GB200, GB300",
     "nvidia.com/gb200-nvl72 and gb300-nvl72, via stas00/ml-engineering; torchtitan",
     {80},
     {1250},
     {2500},
     {2500},
     {5000},
     {8000},
     {1800},
     {}},
    {"MI250X GCD",
     "amd.com mi250x; torchtitan torchtitan/tools/utils.py",
     {23.95, kCard},
     {},
     {191.5, kCard},
     {191.5, kCard},
     {},
     {1638.5, kCard},
     {400, "half of the card's figure, which was not checked against the data sheet"},
     {64, "of the card, shared by its two GCDs"},
     {64, kCard}},
    {"MI300X",
     "amd.com mi300x, via stas00/ml-engineering",
     {163.4},
     {653.7},
     {1307},
     {1307},
     {2615},
     {5300},
     {896},
     {128},
     {192}},
}};

/// What CUDA, ROCm or the driver calls them, upper case and without the maker's words.
struct Alias {
    std::string_view name;
    std::string_view row;
};
constexpr std::array<Alias, 36> kAliases{{
    {"V100-SXM2-16GB", "V100 SXM2"},
    {"V100-SXM2-32GB", "V100 SXM2"},
    {"V100-PCIE-16GB", "V100 PCIe"},
    {"V100-PCIE-32GB", "V100 PCIe"},
    {"T4", "T4"},
    {"A10", "A10"},
    {"A10G", "A10"},
    {"A100-SXM4-40GB", "A100 40GB SXM"},
    {"A100-SXM-40GB", "A100 40GB SXM"},
    {"A100-PCIE-40GB", "A100 40GB PCIe"},
    {"A100-SXM4-80GB", "A100 80GB SXM"},
    {"A100-SXM-80GB", "A100 80GB SXM"},
    {"A100-PCIE-80GB", "A100 80GB PCIe"},
    {"A100 80GB PCIE", "A100 80GB PCIe"},
    {"L4", "L4"},
    {"L40S", "L40S"},
    {"RTX 3090", "RTX 3090"},
    {"RTX 4090", "RTX 4090"},
    {"RTX 5090", "RTX 5090"},
    {"H100 PCIE", "H100 PCIe"},
    {"H100 NVL", "H100 NVL"},
    {"H100 80GB HBM3", "H100 SXM"},
    {"H100 SXM5 80GB", "H100 SXM"},
    {"H200", "H200 SXM"},
    {"H200 SXM", "H200 SXM"},
    {"H200 NVL", "H200 NVL"},
    {"GH200 480GB", "GH200 96GB"},
    {"GH200 120GB", "GH200 96GB"},
    {"GH200 96GB", "GH200 96GB"},
    {"GH200 144G HBM3E", "GH200 141GB"},
    {"GH200 141GB", "GH200 141GB"},
    {"B200", "B200"},
    {"GB200", "GB200, GB300"},
    {"GB300", "GB200, GB300"},
    {"MI250X", "MI250X GCD"},
    {"MI300X", "MI300X"},
}};

std::string plainName(std::string_view device) {
    std::string name;
    for (const char c : device)
        name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const std::string_view maker : {"NVIDIA ", "TESLA ", "GEFORCE ", "AMD ", "INSTINCT "})
        if (name.starts_with(maker)) name.erase(0, maker.size());
    return name;
}

const PeakRow* findRow(std::string_view device) {
    const std::string name = plainName(device);
    for (const PeakRow& row : kRows)
        if (plainName(row.name) == name) return &row;
    for (const Alias& alias : kAliases)
        if (alias.name == name)
            return std::find_if(kRows.begin(), kRows.end(),
                                [&](const PeakRow& row) { return row.name == alias.row; });
    return nullptr;
}

bool has(const std::string& name, std::string_view word) {
    return name.find(word) != std::string::npos;
}

std::string inQuotes(std::string_view text) {
    return std::string(1, '"').append(text).append("\"");
}

/// Why no row may stand for the device.
std::string whyNone(std::string_view device) {
    const std::string name = plainName(device);
    const std::string quoted = inQuotes(device);
    if (has(name, " MIG "))
        return quoted + " is a slice of a device: the data sheet's figures are the whole device's";
    if (has(name, "LAPTOP") || has(name, "MAX-Q") || has(name, "MOBILE"))
        return quoted + " is a laptop variant, whose chip and power limit are not the desktop's";
    if (name.empty()) return "the device has no name";
    if (name == "H100" || name == "A100" || name == "V100" || name == "GH200")
        return quoted + " does not tell the form factor, and the figures differ between them";
    return "the table of data sheets has no entry for " + quoted;
}

template <class Value, class Make>
PeakLookup<Value> lookUp(std::string_view device, const Cell PeakRow::*cell,
                         const std::string& what, const Make& make) {
    const PeakRow* row = findRow(device);
    if (row == nullptr) return {std::nullopt, whyNone(device)};
    const Cell& found = row->*cell;
    if (found.figure == 0)
        return {std::nullopt,
                "the table of data sheets has no " + what + " for " + std::string(row->name)};
    return {make(found, found.source != nullptr ? found.source : row->source), {}};
}

PeakLookup<PeakBandwidth> bandwidth(std::string_view device, const Cell PeakRow::*cell,
                                    const std::string& what) {
    return lookUp<PeakBandwidth>(device, cell, what, [](const Cell& found, const char* source) {
        return PeakBandwidth{found.figure * 1e9, source, found.mark};
    });
}

}  // namespace

PeakLookup<Peak> devicePeak(std::string_view device, std::string_view dtype) {
    struct Column {
        std::string_view dtype;
        const Cell PeakRow::*cell;
    };
    constexpr std::array<Column, 5> kColumns{{{"fp32", &PeakRow::fp32},
                                              {"tf32", &PeakRow::tf32},
                                              {"bf16", &PeakRow::bf16},
                                              {"fp16", &PeakRow::fp16},
                                              {"fp8", &PeakRow::fp8}}};
    const auto column = std::find_if(kColumns.begin(), kColumns.end(),
                                     [&](const Column& one) { return one.dtype == dtype; });
    if (column == kColumns.end())
        return {std::nullopt, inQuotes(dtype) + " is none of fp32, tf32, bf16, fp16 and fp8"};
    return lookUp<Peak>(
        device, column->cell, std::string(dtype) + " peak",
        [](const Cell& found, const char* source) {
            return Peak{found.figure * 1e12, source, true, found.accumulate, found.mark};
        });
}

PeakLookup<PeakBandwidth> memoryBandwidth(std::string_view device) {
    return bandwidth(device, &PeakRow::memory, "memory bandwidth");
}

PeakLookup<PeakBandwidth> nvlinkBandwidth(std::string_view device) {
    return bandwidth(device, &PeakRow::nvlink, "NVLink bandwidth");
}

PeakLookup<PeakBandwidth> pcieBandwidth(std::string_view device) {
    return bandwidth(device, &PeakRow::pcie, "PCIe bandwidth");
}

PeakLookup<DeviceCapacity> deviceCapacity(std::string_view device) {
    return lookUp<DeviceCapacity>(device, &PeakRow::capacity, "size of memory",
                                  [](const Cell& found, const char* source) {
                                      return DeviceCapacity{found.figure * 1e9, source, found.mark};
                                  });
}

std::span<const std::string_view> knownDevices() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const PeakRow& row : kRows) all.push_back(row.name);
        return all;
    }();
    return names;
}

std::string_view peakRow(std::string_view device) {
    const PeakRow* row = findRow(device);
    return row == nullptr ? std::string_view{} : row->name;
}

}  // namespace shardscope::theory
