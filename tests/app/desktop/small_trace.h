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

/// A kernel of 10 us, copies of 60, a kernel of 10: no step, and no collective but a marked one.
inline void writeCopyingTrace(const std::string& path) {
    const auto work = [](const char* category, const char* name, int begin, int length,
                         int stream) {
        return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name +
               R"(","pid":0,"tid":)" + std::to_string(stream) + R"(,"ts":)" +
               std::to_string(begin) + R"(,"dur":)" + std::to_string(length) +
               R"(,"args":{"device":0,"stream":)" + std::to_string(stream) + R"(,"correlation":)" +
               std::to_string(begin + 1) + "}},";
    };
    std::ofstream(path)
        << R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A GPU"}],"traceEvents":[)"
        << work("kernel", "gemm", 1000, 10, 7) << work("gpu_memcpy", "Memcpy HtoD", 1015, 60, 9)
        << work("kernel", "gemm", 1090, 10, 7)
        << R"({"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":7,"tid":8,"ts":1000,)"
        << R"("dur":50}]})";
}

}  // namespace shardscope::desktop
