// A caching allocator as PyTorch's works, run at random, with the memory snapshot that it would
// dump and what was really reserved and free after every step of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::test {

struct SnapshotOptions {
    std::uint64_t seed = 1;
    int steps = 300;          ///< allocations, frees, emptied caches
    bool expandable = false;  ///< segments that grow
    int lostEntries = 0;      ///< of the history's front: its ring was too small
    int mostAlive = 60;
};

/// What is true from `timeNs` of the import on.
struct AllocatorState {
    std::int64_t timeNs = 0;
    std::int64_t reserved = 0, requested = 0;
    std::int64_t segments = 0, blocks = 0;
    std::vector<std::int64_t> free;  ///< sizes, ascending
};

struct AllocatorSnapshot {
    std::string pickle;
    std::vector<AllocatorState> states;  ///< by time; the first that the history holds in front
};

[[nodiscard]] AllocatorSnapshot drawSnapshot(const SnapshotOptions& options = {});

}  // namespace shardscope::test
