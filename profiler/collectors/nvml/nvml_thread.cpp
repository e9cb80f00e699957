#include "profiler/collectors/nvml/nvml_thread.h"

#include "storage/model/host_clock.h"

namespace shardscope::collectors {

NvmlThread::NvmlThread(NvmlSampler& sampler, std::chrono::milliseconds interval)
    : m_sampler(sampler),
      m_thread([this, interval](const std::stop_token& stop) { run(stop, interval); }) {}

void NvmlThread::run(const std::stop_token& stop, std::chrono::milliseconds interval) {
    std::unique_lock lock(m_mutex);
    while (m_sampler.sample(hostNow()) && !stop.stop_requested())
        m_wake.wait_for(lock, stop, interval, [] { return false; });
}

}  // namespace shardscope::collectors
