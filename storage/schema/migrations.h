// The numbered .sql files of this folder, embedded at build time.
#pragma once

#include <cstdint>
#include <vector>

namespace shardscope::storage {

/// "SScp": bytes 68 to 71 of every recording.
inline constexpr std::int32_t kApplicationId = 0x53536370;
/// user_version is 1000 x major + minor. A reader refuses a newer major version; a newer minor one
/// only adds tables and columns that it may ignore.
inline constexpr std::int32_t kFormatMajor = 2;
inline constexpr std::int32_t kFormatVersion = 1000 * kFormatMajor + 5;

struct Migration {
    int number = 0;
    const char* sql = "";
};

/// In order; all of them make an empty database into a current recording.
[[nodiscard]] const std::vector<Migration>& migrations();

}  // namespace shardscope::storage
