// The numbers that Meta's HolisticTraceAnalysis (HTA) gives for a trace, quirks and all, to be
// compared with it. What is exact is elsewhere in the report; the two differ where HTA leaves out
// the last step and kernels whose launch is not in the trace, and goes by names.
//
// Formulas: facebookresearch/HolisticTraceAnalysis @ f4d0062c (2026-05-01), places given at each.
// Pure; times are ns of the trace's clock, half-open.
#pragma once

#include "storage/model/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

/// hta/common/types.py:109-133, tried in this order.
enum class HtaKind : std::uint8_t { kCommunication, kMemory, kComputation, kOther };
[[nodiscard]] HtaKind htaKind(std::string_view name);

/// A complete event with a stream: what HTA's analyses look at.
struct HtaRow {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t correlation = -1;
    std::int64_t stream = 0;
    HtaKind kind = HtaKind::kOther;
    bool device = true;  ///< false: a CPU event that says a stream, or one without a correlation
    bool work = true;    ///< category kernel, gpu_memcpy or gpu_memset: counts for idle by stream
};
/// A CPU event with a correlation.
struct HtaLaunch {
    std::int64_t startNs = 0;
    std::int64_t correlation = 0;
};
struct HtaStep {
    std::string name;  ///< "ProfilerStep#4"
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
};
/// One rank's trace, everything in the file's order.
struct HtaTrace {
    RankId rank;
    std::vector<HtaRow> rows;
    std::vector<HtaLaunch> launches;
    std::vector<HtaStep> steps;  ///< also as annotations of the device
};

struct HtaOptions {
    bool wholeMicroseconds = false;  ///< of a trace whose starts and ends are floored
    bool keepLastStep = false;       ///< include_last_profiler_step
};

/// Idle time between work of one stream, by why (breakdown_analysis.py:746-816).
struct HtaIdle {
    std::int64_t stream = 0;
    std::int64_t hostWaitNs = 0;    ///< the next was launched after the one before had ended
    std::int64_t kernelWaitNs = 0;  ///< else, gaps below 30 us
    std::int64_t otherNs = 0;
};

struct HtaNumbers {
    RankId rank;
    HtaOptions options;
    /// communication_analysis.py:29-74: share of communication behind computation, in %, two
    /// decimals; absent without communication.
    std::optional<double> overlapPercent;
    /// breakdown_analysis.py:641-686
    std::int64_t kernelNs = 0;  ///< first start to last end
    std::int64_t idleNs = 0;
    std::int64_t computeNs = 0;
    std::int64_t nonComputeNs = 0;
    std::int64_t communicationNs = 0;  ///< union of kernels that communicate
    std::vector<HtaIdle> idle;         ///< by stream
};

/// By rank; ranks without a row are left out. HTA looks at all ranks' steps to know whether there
/// are two of them, which decides whether it leaves out the last one (trace.py:801-894).
[[nodiscard]] std::vector<HtaNumbers> htaCompatible(const std::vector<HtaTrace>& ranks,
                                                    const HtaOptions& options);

}  // namespace shardscope::analysis
