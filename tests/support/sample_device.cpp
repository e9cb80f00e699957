#include "tests/support/sample_device.h"

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nvml/nvml_sampler.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace shardscope::test {
namespace {

using collectors::NvmlCounter;

constexpr Duration kLead{400'000};  ///< the host runs this far ahead of the device
constexpr Duration kCall{4'000};
constexpr Duration kBetweenCalls{2'000};
constexpr Duration kSampling{50'000'000};
constexpr double kEnergyBefore = 1.25e6;  ///< J, since the driver was loaded

struct Kernel {
    const char* name;
    const char* operatorName;
    int share;  ///< of the phase's time
    const char* configuration;
};

constexpr const char* kGemmSetup =
    R"("grid":[132,1,1],"block":[384,1,1],"registers":168,"shared_bytes":213248)";
constexpr const char* kElementwiseSetup =
    R"("grid":[32768,1,1],"block":[128,1,1],"registers":32,"shared_bytes":0)";
constexpr const char* kNormSetup =
    R"("grid":[32768,1,1],"block":[32,4,1],"registers":40,"shared_bytes":24)";
constexpr const char* kAttentionSetup =
    R"("grid":[4,16,64],"block":[384,1,1],"registers":168,"shared_bytes":196608)";
constexpr const char* kAdd =
    "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>, array<char*, 3ul> >";

constexpr Kernel kForward[] = {
    {"vectorized_layer_norm_kernel<BFloat16, float>", "aten::native_layer_norm", 4, kNormSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNT", "aten::addmm", 22, kGemmSetup},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_"
     "0",
     "aten::_scaled_dot_product_cudnn_attention", 16, kAttentionSetup},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNN", "aten::addmm", 8, kGemmSetup},
    {kAdd, "aten::add", 4, kElementwiseSetup},
    {"vectorized_layer_norm_kernel<BFloat16, float>", "aten::native_layer_norm", 4, kNormSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNT", "aten::addmm", 18, kGemmSetup},
    {"vectorized_elementwise_kernel<8, GeluCUDAKernelImpl, array<char*, 2ul> >", "aten::gelu", 6,
     kElementwiseSetup},
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_TNT", "aten::addmm", 18, kGemmSetup},
};
constexpr Kernel kBackward[] = {
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_NNN", "aten::mm", 14, kGemmSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopA_NTN", "aten::mm", 14, kGemmSetup},
    {"vectorized_elementwise_kernel<4, GeluBackwardCUDAKernelImpl, array<char*, 3ul> >",
     "aten::gelu_backward", 5, kElementwiseSetup},
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_NNN", "aten::mm", 10, kGemmSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopA_NTN", "aten::mm", 10, kGemmSetup},
    {"reduce_kernel<128, 4, ReduceOp<BFloat16, func_wrapper_t<BFloat16> > >", "aten::sum", 3,
     kElementwiseSetup},
    {"layer_norm_grad_input_kernel_vectorized<BFloat16, float>", "aten::native_layer_norm_backward",
     4, kNormSetup},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_3_64x64x128_4x1x1_kernel0_"
     "0",
     "aten::_scaled_dot_product_cudnn_attention_backward", 24, kAttentionSetup},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNN", "aten::mm", 8, kGemmSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopA_NTN", "aten::mm", 8, kGemmSetup},
};
constexpr Kernel kHead[] = {
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_TNT", "aten::mm", 34, kGemmSetup},
    {"crossEntropyRows<BFloat16>", "", 10, kNormSetup},
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_NNN", "aten::mm", 28, kGemmSetup},
    {"nvjet_hsh_192x192_64x4_2x1_v_bz_coopA_NTN", "aten::mm", 28, kGemmSetup},
};
constexpr Kernel kOptimizer[] = {
    {"shardedAdamW<BFloat16>", "", 60, kElementwiseSetup},
    {"shardedAdamW<BFloat16>", "", 30, kElementwiseSetup},
};
constexpr Kernel kSmall[] = {
    {"indexSelectLargeIndex<BFloat16, long, unsigned int, 2, 2, -2, true>", "aten::index_select",
     60, kElementwiseSetup},
    {kAdd, "aten::add", 30, kElementwiseSetup},
};
constexpr Kernel kCalibration[] = {
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_TNT", "", 49, kGemmSetup},
    {"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_TNT", "", 49, kGemmSetup},
};

std::span<const Kernel> kernelsOf(Phase phase, LayerIndex layer) {
    switch (phase) {
        case Phase::kForward:
        case Phase::kEvaluation:
            return layer == kRootLayer ? std::span<const Kernel>(kSmall) : kForward;
        case Phase::kBackward:
            return layer == kRootLayer ? std::span<const Kernel>(kSmall) : kBackward;
        case Phase::kHead:
            return kHead;
        case Phase::kOptimizer:
        case Phase::kClip:
            return kOptimizer;
        case Phase::kCalibration:
            return kCalibration;
        default:
            return {};
    }
}

std::string textOf(const std::string& operatorName, const std::string& rest) {
    std::string text = "{";
    if (!operatorName.empty()) text += "\"operator\":\"" + operatorName + "\"";
    if (!operatorName.empty() && !rest.empty()) text += ",";
    return text + rest + "}";
}

const char* ncclKernel(CollectiveOp operation) {
    switch (operation) {
        case CollectiveOp::kAllGather:
            return "ncclDevKernel_AllGather_RING_LL";
        case CollectiveOp::kReduceScatter:
            return "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL";
        default:
            return "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    }
}

double counterValue(NvmlCounter counter, double seconds) {
    const double wave = std::sin(seconds * 9.0);
    switch (counter) {
        case NvmlCounter::kPower:
            return 540 + 90 * wave;
        case NvmlCounter::kEnergy:
            return kEnergyBefore + 540 * seconds - 10 * (std::cos(seconds * 9.0) - 1);
        case NvmlCounter::kSmClock:
            return 1.98e9 - 4.5e7 * (wave > 0.8 ? 1 : 0);
        case NvmlCounter::kMemoryClock:
            return 2.619e9;
        case NvmlCounter::kTemperature:
            return std::floor(52 + 9 * (1 - std::exp(-seconds)));
        case NvmlCounter::kPowerCapped:
            return wave > 0.8 ? 0.12 : 0;
        case NvmlCounter::kPcieSent:
        case NvmlCounter::kPcieReceived:
            return 2.4e8 + 5e7 * wave;
        case NvmlCounter::kNvlinkSent:
        case NvmlCounter::kNvlinkReceived:
            return 4.1e10 + 6e9 * wave;
        case NvmlCounter::kSmBusy:
            return 0.93 + 0.04 * wave;
        case NvmlCounter::kOccupancy:
            return 0.31 + 0.03 * wave;
        case NvmlCounter::kTensorCores:
            return 0.44 + 0.05 * wave;
        case NvmlCounter::kMemoryBandwidth:
            return 0.38 - 0.06 * wave;
        default:
            return 0;
    }
}

}  // namespace

std::vector<LaneFacts> SampleDevice::lanes(RankId rank, bool traced) {
    std::vector<LaneFacts> lanes;
    const auto add = [&](LaneId lane, LaneRole role, const char* name, const char* unit = "") {
        lanes.push_back({rank, lane, role, name, unit, static_cast<std::int32_t>(lane.value)});
    };
    if (traced) {
        add(kKernelLane, LaneRole::kCompute, "stream 7");
        add(kNcclLane, LaneRole::kCommunication, "stream 19: NCCL");
        add(kCopyLane, LaneRole::kCopy, "stream 7: copies");
        add(kSideKernelLane, LaneRole::kCompute, "stream 19");
        add(kCallLane, LaneRole::kRuntime, "CUDA calls (thread 4711)");
        add(kWaitLane, LaneRole::kSync, "CUDA waits (thread 4711)");
        add(kOverheadLane, LaneRole::kRuntime, "tracer overhead");
        add(kDriverAllocationLane, LaneRole::kCounter, lanes::kDriverAllocations.name, "bytes");
    }
    for (int i = 0; i < collectors::kNvmlCounterCount; ++i) {
        const auto counter = static_cast<NvmlCounter>(i);
        add(laneOf(counter), LaneRole::kCounter, toWord(counter), unitOf(counter));
    }
    add(kReservedLane, LaneRole::kCounter, "device memory reserved", "bytes");
    return lanes;
}

Timestamp SampleDevice::launch(SampleRank& rank, const char* call, const SpanEvent& facts,
                               const std::string& operatorName, Timestamp wanted) {
    const Timestamp begin = std::max(m_hostFree, wanted - kLead);
    SpanEvent event = facts;
    event.correlation = ++m_correlation;
    event.arguments = rank.string(operatorName.empty() ? "" : textOf(operatorName, ""));
    rank.span(kCallLane, call, {begin, begin + kCall}, event);
    m_hostFree = begin + kCall + kBetweenCalls;
    if (++m_launches % 400 == 0)
        rank.span(kOverheadLane, "flushing buffers", {m_hostFree, m_hostFree + Duration{60'000}},
                  {});
    return std::max({wanted, begin + kCall + Duration{3'000}});
}

TimeRange SampleDevice::phase(SampleRank& rank, const SpanEvent& facts, TimeRange range) {
    const Timestamp hostBegin = std::max(m_hostFree, range.begin - kLead);
    const auto kernels = kernelsOf(facts.phase, facts.layer);
    if (!m_traced || kernels.empty()) {
        m_hostFree = hostBegin + Duration{static_cast<std::int64_t>(kernels.size() + 1) * 6'000};
        return {hostBegin, m_hostFree};
    }
    Timestamp at = std::max(range.begin, m_deviceFree);
    for (const Kernel& kernel : kernels) {
        SpanEvent event = facts;
        at = launch(rank, "cudaLaunchKernelExC", facts, kernel.operatorName, at);
        event.correlation = m_correlation;
        const std::string full =
            ",\"kernel\":\"void " + std::string(kernel.name) + "(int, char*)\"";
        event.arguments = rank.string(textOf(
            kernel.operatorName, kernel.configuration + std::string(",\"stream\":7") + full));
        const Duration length{range.duration().ns * kernel.share / 101};
        rank.span(kKernelLane, kernel.name, {at, std::min(at + length, range.end)}, event);
        at = std::min(at + length, range.end - Duration{1'000});
    }
    m_deviceFree = range.end;
    SpanEvent side = facts;
    const Timestamp sideAt = launch(rank, "cudaLaunchKernelExC", facts, "",
                                    range.begin + Duration{range.duration().ns / 3});
    side.correlation = m_correlation;
    side.arguments = rank.string(textOf("", std::string(kElementwiseSetup) + R"(,"stream":19)"));
    rank.span(kSideKernelLane, "castRows<float, BFloat16>", {sideAt, sideAt + Duration{30'000}},
              side);
    return {hostBegin, m_hostFree};
}

void SampleDevice::collective(SampleRank& rank, const CollectiveEvent& event) {
    if (!m_traced) return;
    SpanEvent facts;
    facts.layer = event.layer;
    facts.step = event.step;
    facts.arguments = rank.string(
        R"({"grid":[24,1,1],"block":[640,1,1],"registers":96,"shared_bytes":83240,"stream":19})");
    rank.span(kNcclLane, ncclKernel(event.operation), {event.start, event.end}, facts);
}

void SampleDevice::copy(SampleRank& rank, const char* name, const char* arguments,
                        const SpanEvent& facts, TimeRange range) {
    const Timestamp begin = launch(rank, "cudaMemcpyAsync", facts, "aten::copy_", range.begin);
    SpanEvent event = facts;
    event.correlation = m_correlation;
    event.arguments = rank.string(textOf("aten::copy_", arguments));
    rank.span(kCopyLane, name, {begin, begin + range.duration()}, event);
}

void SampleDevice::copyBatch(SampleRank& rank, StepIndex step, Bytes size, Timestamp at) {
    if (!m_traced) return;
    SpanEvent facts;
    facts.step = step;
    facts.phase = Phase::kData;
    const std::string arguments = "\"bytes\":" + std::to_string(size.count) +
                                  R"(,"from":"pinned host","to":"device","stream":7)";
    copy(rank, "copy host to device", arguments.c_str(), facts, {at, at + Duration{90'000}});
}

void SampleDevice::readLoss(SampleRank& rank, StepIndex step, Timestamp at) {
    if (!m_traced) return;
    SpanEvent facts;
    facts.step = step;
    facts.phase = Phase::kOther;
    copy(rank, "copy device to host",
         R"("bytes":4,"from":"device","to":"pageable host","stream":7)", facts,
         {at, at + Duration{2'000}});
    facts.correlation = ++m_correlation;
    const TimeRange waiting{m_hostFree, std::max(m_hostFree, at) + Duration{20'000}};
    rank.span(kCallLane, "cudaStreamSynchronize", waiting, facts);
    facts.arguments = rank.string(R"({"stream":7})");
    rank.span(kWaitLane, "wait for stream", waiting, facts);
    m_hostFree = waiting.end + kBetweenCalls;
}

void SampleDevice::sample(SampleRank& rank, Timestamp now, Bytes reserved) {
    if (m_traced && m_sampled.ns == 0)
        rank.counters.push_back(
            {m_sampled, kDriverAllocationLane, static_cast<double>(reserved.count)});
    for (; m_sampled <= now + kSampling; m_sampled = m_sampled + kSampling) {
        for (int i = 0; i < collectors::kNvmlCounterCount; ++i) {
            const auto counter = static_cast<NvmlCounter>(i);
            rank.counters.push_back(
                {m_sampled, laneOf(counter), counterValue(counter, m_sampled.seconds())});
        }
        rank.counters.push_back({m_sampled, kReservedLane, static_cast<double>(reserved.count)});
    }
}

}  // namespace shardscope::test
