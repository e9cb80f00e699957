// Graphs of the CUDA runtime by LibTorch's class for them, which keeps what they allocate apart.
#pragma once

#include "engine/control/device_runtime.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <memory>

namespace shardscope::worker {

class CudaGraph;

/// One capture at a time, on one thread whose device it is.
class CudaGraphs {
public:
    explicit CudaGraphs(std::int32_t device);
    ~CudaGraphs();
    CudaGraphs(const CudaGraphs&) = delete;
    CudaGraphs& operator=(const CudaGraphs&) = delete;

    // DeviceRuntime's.
    void begin();
    std::unique_ptr<control::DeviceGraph> end();
    void abandon() noexcept;

private:
    [[nodiscard]] std::shared_ptr<const c10::MempoolId_t> pool();

    const std::int32_t m_device;
    /// Of all graphs, which hold it: LibTorch takes no pool again whose graphs are gone.
    std::weak_ptr<const c10::MempoolId_t> m_pool;
    std::unique_ptr<CudaGraph> m_current;  ///< null: nothing is being captured
};

}  // namespace shardscope::worker
