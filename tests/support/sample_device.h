// What a device tracer (CUPTI) and the driver's counters (NVML) add to a rank of the sample
// recording: kernels, copies, launches, waits, power. Part of the sample recording.
#pragma once

#include "storage/model/recording.h"
#include "tests/support/sample_rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::test {

/// Lanes as the tracer numbers them: streams in order of appearance, not of meaning.
inline constexpr LaneId kKernelLane = lanes::kStreams.at(0);
inline constexpr LaneId kNcclLane = lanes::kStreams.at(1);
inline constexpr LaneId kCopyLane = lanes::kStreams.at(2);
inline constexpr LaneId kSideKernelLane = lanes::kStreams.at(3);
inline constexpr LaneId kCallLane = lanes::kCalls.at(0);
inline constexpr LaneId kWaitLane = lanes::kCalls.at(1);
inline constexpr LaneId kOverheadLane = lanes::kTracerOverhead.id;
inline constexpr LaneId kDriverAllocationLane = lanes::kDriverAllocations.id;
inline constexpr LaneId kPowerLane = lanes::kNvmlCounters.at(0);
inline constexpr LaneId kReservedLane = lanes::kDeviceReserved.id;

class SampleDevice {
public:
    explicit SampleDevice(bool traced) : m_traced(traced) {}

    [[nodiscard]] static std::vector<LaneFacts> lanes(RankId rank, bool traced);

    /// Kernels that fill `range`, launched ahead of it; says when the host launched them.
    TimeRange phase(SampleRank& rank, const SpanEvent& facts, TimeRange range);
    /// The kernel of a collective; NCCL's carry no correlation.
    void collective(SampleRank& rank, const CollectiveEvent& event);
    /// The batch on its way to the device, and at a step's end the loss on its way back.
    void copyBatch(SampleRank& rank, StepIndex step, Bytes size, Timestamp at);
    void readLoss(SampleRank& rank, StepIndex step, Timestamp at);
    /// Counters up to `now`, every 50 ms.
    void sample(SampleRank& rank, Timestamp now, Bytes reserved);

private:
    /// A launch call that ends before `wanted`; when the work can start on the device.
    Timestamp launch(SampleRank& rank, const char* call, const SpanEvent& facts,
                     const std::string& operatorName, Timestamp wanted);
    void copy(SampleRank& rank, const char* name, const char* arguments, const SpanEvent& facts,
              TimeRange range);

    bool m_traced;
    std::uint64_t m_correlation = 1000;
    std::uint64_t m_launches = 0;
    Timestamp m_hostFree;
    Timestamp m_deviceFree;
    Timestamp m_sampled;
};

}  // namespace shardscope::test
