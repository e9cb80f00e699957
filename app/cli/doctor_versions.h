// The CUDA libraries that this build was made with, and how their versions are written.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace shardscope::cli {

inline constexpr int kRuntimeVersion = 13000;
inline constexpr int kCuptiVersion = 130001;
inline constexpr int kNcclVersion = 22809;

/// 13000 -> "13.0"
[[nodiscard]] inline std::string cudaVersionText(std::int64_t version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}
/// CUPTI counts: 130001 -> "130001"
[[nodiscard]] inline std::string cuptiVersionText(std::int64_t version) {
    return std::to_string(version);
}
/// 22809 -> "2.28.9"
[[nodiscard]] inline std::string ncclVersionText(std::int64_t version) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace shardscope::cli
