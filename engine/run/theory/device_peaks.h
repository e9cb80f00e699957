// What data sheets say a device can do at most: the table behind MFU, model-free.
//
// Every figure is dense (no 2:4 sparsity) and carries its source, the type it accumulates in and
// a mark where it was not checked against the vendor's sheet. Where nothing is known there is a
// reason instead of a number: a wrong peak is worse than none (nanoGPT PR 464: 104 % MFU).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope::theory {

struct Peak {
    double flops = 0;  ///< FLOP/s
    std::string source;
    bool dense = true;
    std::string accumulate;  ///< "fp32", "fp16"
    std::string mark;        ///< what limits trust in the figure; empty: nothing
};

/// Bytes/s of a link or memory.
struct PeakBandwidth {
    double bytesPerSecond = 0;
    std::string source;
    std::string mark;
};

/// Bytes of a device's memory, as data sheets say it; drivers keep some of it.
struct DeviceCapacity {
    double bytes = 0;
    std::string source;
    std::string mark;
};

template <class Value>
struct PeakLookup {
    std::optional<Value> value;
    std::string reason;  ///< a sentence, when there is no value
};

/// `device` is the name that CUDA or the driver gives, form factor included: "NVIDIA H100 PCIe"; or
/// the table's own, whatever the case of its letters.
/// `dtype`: "fp32" "tf32" "bf16" "fp16" "fp8".
[[nodiscard]] PeakLookup<Peak> devicePeak(std::string_view device, std::string_view dtype);
[[nodiscard]] PeakLookup<PeakBandwidth> memoryBandwidth(std::string_view device);
/// Both directions summed, all links of one device; models use half of it per direction.
[[nodiscard]] PeakLookup<PeakBandwidth> nvlinkBandwidth(std::string_view device);
/// x16, both directions summed.
[[nodiscard]] PeakLookup<PeakBandwidth> pcieBandwidth(std::string_view device);

[[nodiscard]] PeakLookup<DeviceCapacity> deviceCapacity(std::string_view device);

/// The table's own names, e.g. "H100 SXM"; for listings and tests.
[[nodiscard]] std::span<const std::string_view> knownDevices();
/// Row that a device's name belongs to; empty when there is none.
[[nodiscard]] std::string_view peakRow(std::string_view device);

}  // namespace shardscope::theory
