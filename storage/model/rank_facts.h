// Rows of ranks, of their devices and of what theory says they hold (storage/schema/FORMAT.md).
#pragma once

#include "storage/model/events.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardscope {

/// How the source of a peak begins that its measurements do not agree on.
inline constexpr const char* kUnsurePeak = "unsure";

struct RankFacts {
    RankId rank;
    std::int32_t host = 0;
    std::int64_t pid = 0;
    std::string device;               ///< "cpu (1 thread)"
    std::optional<double> peakFlops;  ///< FLOP/s of this rank, measured or from the peak table
    /// How peakFlops was found, beginning with kUnsurePeak when it is not to be relied on; the
    /// reason when it is absent.
    std::string peakSource;
    std::uint64_t emitted = 0;  ///< events the rank produced (last word heard from it)
    std::uint64_t dropped = 0;  ///< of these, lost to full queues
    std::optional<std::int32_t> exitCode;
    std::optional<std::int32_t> exitSignal;
};

/// The accelerator of a rank; a CPU rank has none.
struct DeviceFacts {
    RankId rank;
    std::string name;      ///< "NVIDIA H200"
    std::string uuid;      ///< "GPU-..." or "MIG-..."
    std::string pciBusId;  ///< "0000:17:00.0"
    Bytes memory;
    std::string driver;                ///< "580.159.04"; empty: not known
    std::int32_t sharedBy = 1;         ///< ranks of the run on this device
    bool mig = false;                  ///< a slice of a device
    std::string attention;             ///< kernel that computes attention: "cudnn", "flash"
    std::string tracing;               ///< what traced it: "CUPTI 130001, full", or why nothing did
    std::optional<double> vendorPeak;  ///< FLOP/s, dense, at the run's precision
    std::string vendorPeakSource;      ///< data sheet; the reason when it is absent
    std::optional<double> measuredPeak;  ///< FLOP/s of matrix products at the run's own shapes
    std::string measuredPeakSource;
    std::int64_t clockErrorNs = 0;  ///< bound on how far device events may lie off the host clock
};

/// What theory says a rank holds at its peak, by category.
struct MemoryTheory {
    RankId rank;
    MemoryCategory category = MemoryCategory::kOther;
    Bytes size;
};

}  // namespace shardscope
