#include "tests/engine/kernels_cuda/device_tally.h"

namespace shardscope::test {

void DeviceTally::add(const std::string& name, std::int64_t launches, std::int64_t bytes) {
    Line& line = lines[name];
    line.launches += launches;
    line.bytes += bytes;
}

DeviceTally::Line DeviceTally::total() const {
    Line sum;
    for (const auto& [name, line] : lines) {
        sum.launches += line.launches;
        sum.bytes += line.bytes;
    }
    return sum;
}

std::string DeviceTally::text() const {
    std::string text;
    for (const auto& [name, line] : lines) {
        text += std::to_string(line.launches) + " x " + name + ", " +
                std::to_string(line.bytes / 1'000'000) + " MB\n";
    }
    return text;
}

}  // namespace shardscope::test
