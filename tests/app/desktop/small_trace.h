// A trace of PyTorch's profiler that is made here.
#pragma once

#include <fstream>
#include <string>

namespace shardscope::desktop {

/// Two kernels, one of a collective, within each of two steps.
inline void writeSmallTrace(const std::string& path) {
    std::string events;
    const auto add = [&](const std::string& event) {
        events += (events.empty() ? "" : ",") + event;
    };
    for (int step = 0; step < 2; ++step) {
        const int begin = 1000 + 1000 * step;
        add(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)" + std::to_string(step) +
            R"(","pid":7,"tid":7,"ts":)" + std::to_string(begin) + R"(,"dur":900})");
        add(R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":)" +
            std::to_string(begin + 100) +
            R"(,"dur":300,"args":{"device":0,"stream":7,"correlation":)" +
            std::to_string(step * 2 + 1) + "}}");
        add(R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum","pid":0,"tid":9,"ts":)" +
            std::to_string(begin + 300) +
            R"(,"dur":200,"args":{"device":0,"stream":9,"correlation":)" +
            std::to_string(step * 2 + 2) + "}}");
    }
    std::ofstream(path) << R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A GPU"}],)"
                        << R"("traceEvents":[)" << events << "]}";
}

}  // namespace shardscope::desktop
