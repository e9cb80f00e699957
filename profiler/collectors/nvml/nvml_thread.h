// A thread that samples a device at an even pace until it goes or the device is lost.
#pragma once

#include "profiler/collectors/nvml/nvml_sampler.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace shardscope::collectors {

class NvmlThread {
public:
    /// `sampler` outlives it. Everything every 100 to 200 ms: GPM needs the first, more than 10 Hz
    /// tells no more; links every `links`, since their counters wrap.
    explicit NvmlThread(NvmlSampler& sampler,
                        std::chrono::milliseconds interval = std::chrono::milliseconds(150),
                        std::chrono::milliseconds links = std::chrono::milliseconds(30));

private:
    void run(const std::stop_token& stop, std::chrono::milliseconds interval,
             std::chrono::milliseconds links);

    NvmlSampler& m_sampler;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::jthread m_thread;  // last: stops and joins before the rest goes
};

}  // namespace shardscope::collectors
