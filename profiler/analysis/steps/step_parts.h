// How a step's time on the host splits into forward, backward and optimizer.
//
// From the phases of the step thread, or, of foreign traces, from the names of annotations and of
// autograd's spans as far as they tell it. Times are unions, so that nested names count once, and
// disjoint: what is backward by name is not forward, even if autograd ran it within. Denominator of
// shares: the sum of the parts. Pure.
#pragma once

#include "storage/model/events.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

// How often and how long spans of each name ran: operators of host threads, kernels of a device.
//
// Self time is a span's time less that of the spans inside it on its lane. Shares are of the sum of
// self times, so that nested spans count once.

/// Which part of a step spans belong to.
enum class StepPart : std::uint8_t { kForward, kBackward, kOptimizer, kOther };
constexpr auto wordsOf(StepPart) {
    return wordList<Word<StepPart>>({{StepPart::kForward, "forward"},
                                     {StepPart::kBackward, "backward"},
                                     {StepPart::kOptimizer, "optimizer"},
                                     {StepPart::kOther, "other"}});
}
/// The head's phase is both; its loss is forward's.
[[nodiscard]] StepPart stepPartOf(Phase phase);

struct SpanTotal {
    std::string name;
    std::int64_t count = 0;
    Duration total;
    Duration self;
    Duration shortest, longest;
    std::array<Duration, kPlaces<StepPart>> selfByPart{};
    double squares = 0;  ///< sum of (duration in ns)^2

    [[nodiscard]] double meanNs() const;
    /// Standard deviation of the durations, of the spans that there are.
    [[nodiscard]] double deviationNs() const;
};

/// Of the spans of one layer of the model, all names together.
struct LayerTotal {
    LayerIndex layer = kNoLayer;  ///< kNoLayer: of none
    std::int64_t count = 0;
    Duration self;
    std::array<Duration, kPlaces<StepPart>> selfByPart{};
};

class SpanTotals {
public:
    using Text = std::function<std::string_view(StringId)>;

    /// Spans of one lane, by start, the outer before the inner. `text` is asked once a name and
    /// call.
    void add(const std::vector<SpanEvent>& spans, const Text& text);
    /// Most self time first.
    [[nodiscard]] std::vector<SpanTotal> sorted() const;
    [[nodiscard]] bool empty() const { return m_byName.empty(); }
    /// The root, blocks in their order, what belongs to none.
    [[nodiscard]] std::vector<LayerTotal> byLayer() const;

private:
    std::map<std::string, SpanTotal, std::less<>> m_byName;
    std::map<LayerIndex, LayerTotal> m_byLayer;
};

/// "Optimizer.step#SGD.step", "## forward ##", "autograd::engine::evaluate_function: ..."; none: it
/// does not tell. Setting gradients to zero is no part.
[[nodiscard]] std::optional<StepPart> partOfName(std::string_view name);

/// Ranges of each part, overlapping as they may; by StepPart.
using PartRanges = std::array<std::vector<TimeRange>, kPlaces<StepPart>>;
using PartTimes = std::array<Duration, kPlaces<StepPart>>;
/// What lies in several counts for backward, else for the optimizer, else for forward.
[[nodiscard]] PartTimes partTimes(PartRanges ranges);

/// Of a rank's phases, by step; phases that belong to none are left out.
[[nodiscard]] std::map<StepIndex, PartTimes> partTimesByStep(const RankEvents& events);

}  // namespace shardscope::analysis
