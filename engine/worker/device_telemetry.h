// NVML's counters of this rank's device, sampled on a thread of their own.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/nvml/nvml_thread.h"
#include "storage/model/result.h"

#include <memory>
#include <optional>
#include <string>

namespace shardscope::worker {

class DeviceTelemetry {
public:
    /// Starts sampling into `sink`, which outlives it. An error says why there are no counters:
    /// training goes on without.
    static Result<std::unique_ptr<DeviceTelemetry>> start(const std::string& pciBusId,
                                                          capture::DeviceSink& sink);

    [[nodiscard]] const std::string& driver() const { return m_driver; }
    [[nodiscard]] bool mig() const { return m_mig; }
    /// Device memory of this process; nothing where the driver does not say.
    [[nodiscard]] std::optional<Bytes> ownMemory() const { return m_sampler->ownMemory(); }

private:
    explicit DeviceTelemetry(collectors::NvmlLibrary library) : m_library(std::move(library)) {}

    collectors::NvmlLibrary m_library;
    std::string m_driver;
    bool m_mig = false;
    std::optional<collectors::NvmlSampler> m_sampler;
    std::optional<collectors::NvmlThread> m_thread;  ///< after what it samples
};

}  // namespace shardscope::worker
