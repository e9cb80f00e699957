// How values of the model become cells. Internal to profiler/questions.
#pragma once

#include "engine/run/config/run_config.h"
#include "profiler/questions/answer/answer.h"
#include "storage/model/recording.h"
#include "storage/model/run_facts.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {

[[nodiscard]] inline Cell cell(std::optional<double> value) {
    return value ? Cell(*value) : Cell();
}
[[nodiscard]] inline Cell cell(std::optional<Duration> value) {
    return value ? Cell(value->ns) : Cell();
}
/// Of what may be no number.
[[nodiscard]] inline Cell finite(double value) {
    return std::isfinite(value) ? Cell(value) : Cell();
}
/// Of a share or a change.
[[nodiscard]] inline Cell percent(std::optional<double> share) {
    return share ? Cell(100 * *share) : Cell();
}
/// In percent; none of nothing.
[[nodiscard]] inline Cell share(Duration part, Duration whole) {
    if (whole.ns <= 0) return {};
    return 100 * static_cast<double>(part.ns) / static_cast<double>(whole.ns);
}
[[nodiscard]] inline Cell stepCell(StepIndex step) {
    return step == kNoStep ? Cell() : Cell(std::int64_t{step.value});
}
[[nodiscard]] inline Cell layerCell(LayerIndex layer) {
    if (layer == kRootLayer) return "embedding and head";
    return layer == kNoLayer ? Cell() : Cell(std::int64_t{layer.value});
}
[[nodiscard]] inline Cell sizeCell(Bytes size) {
    return size == kUnknownSize ? Cell() : Cell(size.count);
}
/// Of a cell with a number; less than any number where there is none.
[[nodiscard]] double numberOf(const Cell& cell);

/// Groups by their ranks: "all", "0-3", "0,2,4". `ranks` outlive it.
class GroupNames {
public:
    GroupNames(const std::vector<RankEvents>& ranks, const RunFacts& run);
    [[nodiscard]] const std::string& of(std::uint32_t group);
    /// What its ranks share, in a word; none where the recording is not of a training of our own.
    [[nodiscard]] Cell kindOf(std::uint32_t group) const;

private:
    const std::vector<RankEvents>& m_ranks;
    std::optional<run::RunConfig> m_config;
    std::map<std::uint32_t, std::string> m_names;
};

}  // namespace shardscope::questions
