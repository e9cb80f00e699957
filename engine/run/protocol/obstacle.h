// What is in the way, and what mends it: two phrases that the doctor shows apart and a run's
// failure as one sentence.
#pragma once

#include <string>

namespace shardscope::run {

/// Code of a host without NVIDIA driver: nothing of CUDA can be asked there.
inline constexpr const char* kNoDriverCode = "no-driver";

struct Obstacle {
    std::string code;    ///< stable: "no-driver", "driver-too-old", "cupti-busy"; may be empty
    std::string found;   ///< what is the matter; empty: nothing is in the way
    std::string remedy;  ///< what to do or to type; empty: not known

    [[nodiscard]] bool none() const { return found.empty(); }
};

/// "there is no NVIDIA driver on this host; install r580 or newer"
[[nodiscard]] inline std::string sentence(const Obstacle& obstacle) {
    return obstacle.remedy.empty() ? obstacle.found : obstacle.found + "; " + obstacle.remedy;
}

}  // namespace shardscope::run
