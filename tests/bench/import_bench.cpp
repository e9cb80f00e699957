// How fast a Kineto trace becomes a finished recording, and in how much memory.
//
//   import_bench [MEGABYTES]          generates a trace, imports it, prints figures
//   import_bench --pairs MEGABYTES    the same, in turns so that it can be read meanwhile and not
//   import_bench --write MEGABYTES    writes the trace to standard output
#include "storage/interchange/import.h"
#include "tests/bench/kineto_generator.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace shardscope::bench {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

double processorSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peakMegabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

std::string load() {
    std::ifstream file("/proc/loadavg");
    std::string average;
    file >> average;
    return average;
}

/// Processor seconds of one import; `first`: until it could be read, by the clock.
double importOnce(const std::string& path, const std::string& output, bool readable,
                  double& first) {
    interchange::ImportOptions options;
    options.output = output;
    options.overwrite = true;
    const auto start = std::chrono::steady_clock::now();
    if (readable)
        options.readable = [&](const std::string&) {
            first = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
    const double before = processorSeconds();
    if (const auto account = interchange::importTraces({path}, options); !account)
        fmt::print(stderr, "{}\n", account.error().message);
    return processorSeconds() - before;
}

int measurePairs(std::uint64_t megabytes) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("trace.json");
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return 1;
    writeKinetoTrace(file, megabytes * kMegabyte);
    std::fclose(file);
    constexpr int kPairs = 9;
    std::vector<double> ratios;
    for (int i = 0; i < kPairs; ++i) {
        double seconds[2] = {}, first = 0;
        for (const bool readable : {i % 2 == 0, i % 2 != 0})
            seconds[readable ? 1 : 0] =
                importOnce(path, folder.file("out.sscope"), readable, first);
        ratios.push_back(seconds[1] / seconds[0]);
        fmt::print("processor {:.2f} s, {:.2f} s where it can be read, from {:.2f} s on\n",
                   seconds[0], seconds[1], first);
    }
    std::sort(ratios.begin(), ratios.end());
    fmt::print("median of {} pairs: {:+.1f} %; load average {}\n", kPairs,
               100 * (ratios[kPairs / 2] - 1), load());
    return 0;
}

int measure(std::uint64_t megabytes) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("trace.json");
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return 1;
    const KinetoSize size = writeKinetoTrace(file, megabytes * kMegabyte);
    std::fclose(file);
    interchange::ImportOptions options;
    options.output = folder.file("out.sscope");
    const double before = processorSeconds();
    const auto start = std::chrono::steady_clock::now();
    const auto account = interchange::importTraces({path}, options);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    const double processor = processorSeconds() - before;
    if (!account) {
        fmt::print(stderr, "{}\n", account.error().message);
        return 1;
    }
    const auto events = static_cast<double>(size.events);
    const auto bytes = static_cast<double>(size.bytes);
    const auto stored = static_cast<double>(std::filesystem::file_size(options.output));
    fmt::print("{:.0f} MB, {} events, {} kept; load average {}\n", bytes / 1e6, size.events,
               account->kept, load());
    fmt::print("wall       {:6.2f} s  {:5.2f} M events/s  {:5.0f} MB/s\n", wall.count(),
               events / wall.count() / 1e6, bytes / wall.count() / 1e6);
    fmt::print("processor  {:6.2f} s  {:5.2f} M events/s  {:5.0f} MB/s\n", processor,
               events / processor / 1e6, bytes / processor / 1e6);
    fmt::print("peak memory {:.0f} MB; recording {:.1f} MB, {:.1f} B/event\n", peakMegabytes(),
               stored / 1e6, stored / events);
    return 0;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    using namespace shardscope::bench;
    if (argc == 3 && std::strcmp(argv[1], "--write") == 0)
        return writeKinetoTrace(stdout, std::strtoull(argv[2], nullptr, 10) * kMegabyte).events > 0
                   ? 0
                   : 1;
    if (argc == 3 && std::strcmp(argv[1], "--pairs") == 0)
        return measurePairs(std::strtoull(argv[2], nullptr, 10));
    return measure(argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 300);
}
