// Where ranks stand when layers are divided: T ranks next to each other share every layer and see
// the same rows, R / T replicas see rows of their own. Pure, torch-free.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/words.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardscope::run {

struct RankPlace {
    std::int32_t tensor = 0;   ///< of T
    std::int32_t replica = 0;  ///< of R / T
};

/// At least one, also of settings that a form holds before they are sound.
[[nodiscard]] inline std::int32_t replicasOf(const RunConfig& config) {
    return std::max(1, config.ranks / std::max(1, config.tensor));
}
[[nodiscard]] inline RankPlace placeOf(const RunConfig& config, std::int32_t rank) {
    return {rank % config.tensor, rank / config.tensor};
}

// Ids of groups of ranks (CollectiveEvent::group): 0 is all ranks, then come groups of neighbours,
// then those of ranks at the same place of such a group.

[[nodiscard]] inline std::uint32_t neighboursId(std::int32_t neighbours, std::int32_t rank) {
    return static_cast<std::uint32_t>(1 + rank / neighbours);
}
[[nodiscard]] inline std::uint32_t samePlaceId(std::int32_t ranks, std::int32_t neighbours,
                                               std::int32_t rank) {
    return static_cast<std::uint32_t>(1 + ranks / neighbours + rank % neighbours);
}

/// What the ranks of a group share.
enum class GroupKind : std::uint8_t {
    kAll,       ///< all ranks of the run
    kData,      ///< the same part of the model and of its state, other batches
    kSharding,  ///< one copy of the state, of hsdp
    kTensor,    ///< layers
};
constexpr auto wordsOf(GroupKind) {
    return wordList<Word<GroupKind>>({{GroupKind::kAll, "all"},
                                      {GroupKind::kData, "data"},
                                      {GroupKind::kSharding, "sharding"},
                                      {GroupKind::kTensor, "tensor"}});
}
[[nodiscard]] inline GroupKind groupKindOf(const RunConfig& config, std::uint32_t group) {
    if (group == 0) return GroupKind::kAll;
    const bool hybrid = config.strategy == Strategy::kHsdp && config.shardRanks > 0;
    const std::int32_t neighbours = hybrid ? config.shardRanks : config.tensor;
    if (group > static_cast<std::uint32_t>(config.ranks / neighbours)) return GroupKind::kData;
    return hybrid ? GroupKind::kSharding : GroupKind::kTensor;
}

/// Tokens of a step that `rank` counts as its own: those of its replica, divided between the ranks
/// that share its layers.
[[nodiscard]] inline std::int64_t tokensOf(const RunConfig& config, std::int32_t rank) {
    const std::int64_t all = std::int64_t{config.batch} * config.model.context * config.accumulate;
    const std::int64_t place = placeOf(config, rank).tensor;
    return all * (place + 1) / config.tensor - all * place / config.tensor;
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
