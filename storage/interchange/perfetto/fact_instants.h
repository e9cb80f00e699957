// Memory events, collectives, steps and metrics as annotations of instants, and back.
#pragma once

#include "storage/interchange/json_text.h"
#include "storage/model/recording.h"
#include "storage/model/step_facts.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope::interchange {

/// Category of the instants of a kind.
inline constexpr std::string_view kMemoryFact = "memory", kCollectiveFact = "collective",
                                  kStepFact = "step", kMetricFact = "metric", kFlowFact = "flow";

/// "gradients" and so on as their JSON object, without the time, which the instant has. Names that
/// are strings of the rank are given as text.
[[nodiscard]] std::string factOf(const MemoryEvent& event, std::string_view arguments = {});
[[nodiscard]] std::string factOf(const CollectiveEvent& event, std::string_view algorithm,
                                 std::string_view protocol);
struct FlowTexts {
    std::string_view category, idText, arguments;
};
[[nodiscard]] std::string factOf(const FlowEvent& event, const FlowTexts& texts);
[[nodiscard]] std::string factOf(const StepFacts& step);
[[nodiscard]] std::string factOf(const MetricPoint& metric);

/// Back from the members; what is missing or out of range is as in a fresh struct.
[[nodiscard]] MemoryEvent memoryOf(const std::vector<Member>& members, Timestamp time);
/// Of a memory event, as they were.
[[nodiscard]] std::string argumentsOf(const std::vector<Member>& members);
[[nodiscard]] CollectiveEvent collectiveOf(const std::vector<Member>& members, Timestamp start);
[[nodiscard]] FlowEvent flowOf(const std::vector<Member>& members, Timestamp time);
[[nodiscard]] InstantScope scopeOf(std::string_view word);
[[nodiscard]] StepFacts stepOf(const std::vector<Member>& members, Timestamp start);
[[nodiscard]] MetricPoint metricOf(const std::vector<Member>& members, Timestamp time);

/// Of "layer 3" and "root"; of a phase's word.
[[nodiscard]] LayerIndex layerOf(std::string_view title);
[[nodiscard]] Phase phaseOf(std::string_view word);

}  // namespace shardscope::interchange
