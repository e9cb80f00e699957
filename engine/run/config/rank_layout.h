// Where ranks stand when layers are divided: T ranks next to each other share every layer and see
// the same rows, R / T replicas see rows of their own. Pure, torch-free.
#pragma once

#include "engine/run/config/run_config.h"

#include <cstdint>
#include <vector>

namespace shardscope::run {

struct RankPlace {
    std::int32_t tensor = 0;   ///< of T
    std::int32_t replica = 0;  ///< of R / T
};

[[nodiscard]] inline std::int32_t replicasOf(const RunConfig& config) {
    return config.ranks / config.tensor;
}
[[nodiscard]] inline RankPlace placeOf(const RunConfig& config, std::int32_t rank) {
    return {rank % config.tensor, rank / config.tensor};
}

/// Ranks with which `rank` shares layers, itself among them.
[[nodiscard]] inline std::vector<int> tensorGroup(const RunConfig& config, std::int32_t rank) {
    std::vector<int> ranks;
    for (std::int32_t i = 0; i < config.tensor; ++i)
        ranks.push_back(rank / config.tensor * config.tensor + i);
    return ranks;
}
/// Ranks that have the same part of every layer.
[[nodiscard]] inline std::vector<int> dataGroup(const RunConfig& config, std::int32_t rank) {
    std::vector<int> ranks;
    for (std::int32_t i = rank % config.tensor; i < config.ranks; i += config.tensor)
        ranks.push_back(i);
    return ranks;
}

}  // namespace shardscope::run
