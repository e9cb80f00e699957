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
    /// `sampler` outlives it. 100 to 200 ms: GPM needs the first, more than 10 Hz tells no more.
    explicit NvmlThread(NvmlSampler& sampler,
                        std::chrono::milliseconds interval = std::chrono::milliseconds(150));

private:
    void run(const std::stop_token& stop, std::chrono::milliseconds interval);

    NvmlSampler& m_sampler;
    std::mutex m_mutex;
    std::condition_variable_any m_wake;
    std::jthread m_thread;  // last: stops and joins before the rest goes
};

}  // namespace shardscope::collectors
