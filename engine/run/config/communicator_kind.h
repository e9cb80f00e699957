// Which of the engine's communicators joins the ranks of a run: what its collectives cost depends
// on it more than on anything else.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/words.h"

#include <cstdint>

namespace shardscope::run {

enum class CommunicatorKind : std::uint8_t {
    kSharedMemory = 1,
    kGloo = 2,
    kHierarchical = 3,
    kNccl = 4,
    kModelled = 5,
};
struct CommunicatorKindWords {
    CommunicatorKind value;
    const char* word;
    const char* name;  ///< in tables
    const char* note;
};
constexpr auto wordsOf(CommunicatorKind) {
    return wordList<CommunicatorKindWords>(
        {{CommunicatorKind::kSharedMemory, "shared-memory", "shared memory",
          "ranks of one host read where their peers' data lies"},
         {CommunicatorKind::kGloo, "gloo", "Gloo", "a ring of all ranks over TCP"},
         {CommunicatorKind::kHierarchical, "hierarchical", "hierarchical",
          "shared memory inside a host, a ring over TCP for each place between hosts"},
         {CommunicatorKind::kNccl, "nccl", "NCCL", "GPUs"},
         {CommunicatorKind::kModelled, "modelled", "modelled link",
          "held back to a latency and bandwidth that were given, not measured"}});
}

/// Of a valid run.
[[nodiscard]] CommunicatorKind communicatorOf(const RunConfig& config);

}  // namespace shardscope::run
