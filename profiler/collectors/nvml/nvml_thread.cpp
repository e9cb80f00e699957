#include "profiler/collectors/nvml/nvml_thread.h"

#include "storage/model/host_clock.h"

#include <algorithm>
#include <cstdint>

namespace shardscope::collectors {

NvmlThread::NvmlThread(NvmlSampler& sampler, std::chrono::milliseconds interval,
                       std::chrono::milliseconds links)
    : m_sampler(sampler), m_thread([this, interval, links](const std::stop_token& stop) {
          run(stop, interval, std::min(interval, links));
      }) {}

void NvmlThread::run(const std::stop_token& stop, std::chrono::milliseconds interval,
                     std::chrono::milliseconds links) {
    const auto turns = interval / links;
    std::unique_lock lock(m_mutex);
    const auto look = [&](std::int64_t turn) {
        return turn % turns == 0 ? m_sampler.sample(hostNow()) : m_sampler.sampleLinks(hostNow());
    };
    for (std::int64_t turn = 0; look(turn) && !stop.stop_requested(); ++turn)
        m_wake.wait_for(lock, stop, links, [] { return false; });
}

}  // namespace shardscope::collectors
