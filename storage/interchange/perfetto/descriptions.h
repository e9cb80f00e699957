// What a track of an exported trace is of, as JSON in its description: Perfetto shows it to people,
// and the importer knows by it that the trace is Shardscope's own.
#pragma once

#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::interchange {

struct ProcessDescription {
    RankFacts rank;
    RunFacts run;    ///< model, strategy, world size, parameters, start, end, configuration
    Duration shift;  ///< trace time = recording time + shift
};
[[nodiscard]] std::string describe(const ProcessDescription& process);
[[nodiscard]] std::string describe(const LaneFacts& lane);
/// Of a rank's memory events, collectives, steps and metrics, which lie on no lane.
[[nodiscard]] std::string describeFacts();

/// Nothing: not written by Shardscope.
[[nodiscard]] std::optional<ProcessDescription> parseProcess(std::string_view text);
/// `lane.rank` is not said.
[[nodiscard]] std::optional<LaneFacts> parseLane(std::string_view text);
[[nodiscard]] bool isFacts(std::string_view text);

}  // namespace shardscope::interchange
