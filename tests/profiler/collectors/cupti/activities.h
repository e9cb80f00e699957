// Hand-made CUPTI activities, laid out one behind the other as CUPTI lays them into a buffer.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace shardscope::collectors {

class Activities {
public:
    template <class Activity>
    Activities& add(const Activity& activity) {
        static_assert(std::is_trivially_copyable_v<Activity>);
        const std::size_t at = m_bytes.size();
        m_bytes.resize(at + sizeof activity);
        std::memcpy(m_bytes.data() + at, &activity, sizeof activity);
        ++m_count;
        return *this;
    }
    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return m_bytes; }
    [[nodiscard]] std::size_t count() const { return m_count; }

private:
    std::vector<std::uint8_t> m_bytes;
    std::size_t m_count = 0;
};

/// `name` must outlive the decoding.
inline CUpti_ActivityKernel10 kernelActivity(std::uint32_t correlation, std::uint64_t start,
                                             std::uint64_t end, const char* name = "gemm",
                                             std::uint32_t stream = 7) {
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = start;
    kernel.end = end;
    kernel.contextId = 1;
    kernel.streamId = stream;
    kernel.correlationId = correlation;
    kernel.name = name;
    kernel.gridX = 8;
    kernel.gridY = 2;
    kernel.gridZ = 1;
    kernel.blockX = 128;
    kernel.blockY = 1;
    kernel.blockZ = 1;
    kernel.registersPerThread = 64;
    kernel.staticSharedMemory = 1024;
    kernel.dynamicSharedMemory = 512;
    return kernel;
}

inline CUpti_ActivityAPI callActivity(std::uint32_t correlation, std::uint64_t start,
                                      std::uint64_t end, std::uint32_t thread = 100) {
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
    call.start = start;
    call.end = end;
    call.threadId = thread;
    call.correlationId = correlation;
    return call;
}

inline CUpti_ActivityExternalCorrelation externalActivity(
    std::uint32_t correlation, std::uint64_t id,
    CUpti_ExternalCorrelationKind kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
    CUpti_ActivityExternalCorrelation external{};
    external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    external.externalKind = kind;
    external.externalId = id;
    external.correlationId = correlation;
    return external;
}

}  // namespace shardscope::collectors
