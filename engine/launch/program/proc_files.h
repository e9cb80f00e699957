// Files of /proc, as text: what is missing or may not be read is empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope::launch {

[[nodiscard]] std::string procText(const std::string& path, std::size_t mostBytes);
/// What a link leads to; empty: nothing, or it may not be read.
[[nodiscard]] std::string linkText(const std::string& path);

/// Of /proc/PID/stat.
struct ProcStat {
    std::string name;
    char state = 0;
    std::array<std::int64_t, 53> fields{};  ///< by their numbers in proc(5)

    static constexpr std::size_t kParent = 4, kUserTicks = 14, kSystemTicks = 15, kStart = 22,
                                 kResidentPages = 24;
};
[[nodiscard]] ProcStat procStat(std::string_view text);

/// Of /proc/PID/status: "VmHWM" in kilobytes; 0: it is not there.
[[nodiscard]] std::int64_t statusNumber(std::string_view status, std::string_view name);

/// Arguments or variables, each ended by a zero byte.
[[nodiscard]] bool hasEntry(std::string_view entries, std::string_view entry);
/// What follows "NAME=" there; nullptr in data(): there is no such variable.
[[nodiscard]] std::string_view variableIn(std::string_view entries, std::string_view name);

}  // namespace shardscope::launch
