// What a lane is, by its role and the name that its recorder or importer gave it: of which thread
// or stream it is, and what of it. Pure.
#pragma once

#include "storage/model/recording.h"

#include <QString>
#include <cstdint>
#include <vector>

namespace shardscope::desktop {

/// Where a lane stands within its rank, top first.
enum class LaneSection : std::uint8_t {
    kEngine = 0,  ///< steps, phases, communication, memory: below the rank's own header
    kStreams,     ///< one group a stream of a device
    kThreads,     ///< one group a host thread
    kCounters,
    kOther,  ///< what the tracing tool said of itself, arrows and instants without spans
};

/// What of a thread or stream a lane holds, in the order in which such lanes lie.
enum class LaneContent : std::uint8_t {
    kAnnotations = 0,
    kPython,
    kOperators,
    kCalls,
    kWaits,
    kKernels,
    kCollectiveKernels,
    kCopies,
    kRest,
};

struct LaneIdentity {
    LaneSection section = LaneSection::kEngine;
    LaneContent content = LaneContent::kRest;
    QString group;      ///< the same for lanes of one thread or stream; empty: no group of its own
    QString groupName;  ///< "GPU 0 · stream 7", "main thread 2910249"
    QString name;       ///< within the group: "operators"; of others the whole name
};

/// `rank`: whose lane it is; its process determines the main thread.
[[nodiscard]] LaneIdentity identify(const LaneFacts& lane, const RankFacts& rank);
/// Of a thread that a profiler invents to say something of itself: "thread PyTorch Profiler:
/// Trace".
[[nodiscard]] bool isOfInventedThread(const QString& laneName);
/// The group that "communication in group 3" is of; 0: of the world, or no such lane.
[[nodiscard]] std::uint32_t communicationGroup(const LaneFacts& lane);
/// "ranks 0–3, 8"
[[nodiscard]] QString rankList(const std::vector<RankId>& ranks);

}  // namespace shardscope::desktop
