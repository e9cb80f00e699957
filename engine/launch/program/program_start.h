// What a shell would say of a program before it starts it.
#pragma once

#include <optional>
#include <string>

namespace shardscope::launch {

/// Statuses of a program that cannot be executed or is not there, as shells have them.
inline constexpr int kNotExecutable = 126, kNotFound = 127;

struct StartObstacle {
    int status = 0;  ///< one of the two
    std::string message;
};

/// Why the program cannot be started, and what to do; nothing: as far as can be seen it can.
[[nodiscard]] std::optional<StartObstacle> startObstacle(const std::string& program);

}  // namespace shardscope::launch
