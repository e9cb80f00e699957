#include "engine/worker/device_telemetry.h"

#include <unistd.h>

namespace shardscope::worker {

Result<std::unique_ptr<DeviceTelemetry>> DeviceTelemetry::start(const std::string& pciBusId,
                                                                capture::DeviceSink& sink) {
    auto library = collectors::NvmlLibrary::open();
    if (!library) return failure(library);
    std::unique_ptr<DeviceTelemetry> telemetry(new DeviceTelemetry(std::move(*library)));
    const collectors::NvmlApi& api = telemetry->m_library.api();
    if (auto driver = collectors::nvmlDriverVersion(api)) telemetry->m_driver = *driver;
    auto device = collectors::nvmlDevice(api, pciBusId);
    if (!device) return failure(device);
    telemetry->m_mig = device->mig;
    telemetry->m_sampler.emplace(api, *device, ::getpid(), sink);
    telemetry->m_thread.emplace(*telemetry->m_sampler);
    return telemetry;
}

}  // namespace shardscope::worker
