// Names inside a folder of checkpoints. Internal to engine/checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::checkpoint {

inline constexpr const char* kManifestName = "manifest.json";
inline constexpr const char* kSchema = "shardscope.checkpoint/1";

[[nodiscard]] std::string checkpointPath(const std::string& folder, std::int32_t nextStep);
[[nodiscard]] std::string partialPath(const std::string& folder, std::int32_t nextStep);
/// What a whole one is called while it is removed.
[[nodiscard]] std::string goingPath(const std::string& checkpoint);
[[nodiscard]] std::string rankFileName(int rank);

/// Whole ones in `folder`, oldest first.
[[nodiscard]] std::vector<std::string> wholeCheckpoints(const std::string& folder);
/// Unfinished ones.
[[nodiscard]] std::vector<std::string> partialCheckpoints(const std::string& folder);

}  // namespace shardscope::checkpoint
