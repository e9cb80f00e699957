// Collectives inside CUDA graphs: NCCL tells of one when it is captured, and the tracer of its
// kernel at each replay, under the id of the launch that was captured. Which replay a kernel
// belongs to follows from its time. Pure; one thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nccl/nccl_records.h"
#include "storage/model/events.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::collectors {

/// What NCCL made of a collective; text pointers are its literals, null: unknown.
struct NcclChoice {
    std::vector<std::uint64_t> launches;  ///< of its tasks, or made under its annotation
    const char* algorithm = nullptr;
    const char* protocol = nullptr;
    const char* dataType = nullptr;
    std::int64_t payload = 0;  ///< 0: unknown
};

class NcclReplays {
public:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< group, number at the capture

    /// One whose `own` is of a capture.
    void record(const NcclRecord& record);
    /// Of a replay; `delivery` counts up.
    void kernel(const capture::CollectiveKernel& kernel, std::uint64_t delivery);

    /// Null: NCCL has not reported it.
    [[nodiscard]] const NcclChoice* find(const Key& key) const;
    /// When its kernels ran, all of them, in the replay that took about `when` by other clocks.
    [[nodiscard]] std::optional<TimeRange> kernelTimes(const NcclChoice& choice,
                                                       TimeRange when) const;
    /// Whether a kernel of a replay that began after `time` has come.
    [[nodiscard]] bool past(Timestamp time) const { return m_latest && time < *m_latest; }
    /// Kernels that came with earlier deliveries.
    void forgetBefore(std::uint64_t delivery);

private:
    struct Kernel {
        TimeRange range;
        std::uint64_t delivery = 0;
    };

    std::map<Key, NcclChoice> m_captured;
    std::unordered_map<std::uint64_t, std::vector<Kernel>> m_kernels;  // by launch
    std::optional<Timestamp> m_latest;                                 ///< start of a kernel
};

}  // namespace shardscope::collectors
