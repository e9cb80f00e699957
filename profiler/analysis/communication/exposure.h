// Which collectives were not hidden behind compute, by how much, and why.
//
// Each collective of a rank is looked at by itself: hidden is what of [start, end) its rank
// computes in, exposed the rest; of that, waiting is what lies before the last rank arrived. Where
// two collectives of a rank run at once, both count what they share.
//
// Why, by the longest part of what is exposed: waiting for a rank; or of the time that data moved
// - issued late: it was asked for when the step thread came to need it, or with less compute before
//   that than it took
// - queued: it began only when another collective of the rank was done, and had been asked for
//   before that one ended, while the step thread still computed
// - too long: it was asked for in time, and compute that there was could not hide it.
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/recording.h"
#include "storage/model/words.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::analysis {

enum class ExposureReason : std::uint8_t {
    kNone,
    kWaited,
    kQueued,
    kLate,
    kLong,
    kUnknown,
    kNeeded
};
struct ExposureWords {
    ExposureReason value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(ExposureReason) {
    return wordList<ExposureWords>(
        {{ExposureReason::kNone, "hidden", "Nothing of note is exposed."},
         {ExposureReason::kWaited, "waited for a rank", "Most of it before the last rank arrived."},
         {ExposureReason::kQueued, "queued", "It had to wait for the collective before it."},
         {ExposureReason::kLate, "issued late",
          "It was asked for when it was needed, or with too little compute before that."},
         {ExposureReason::kLong, "too long",
          "Asked for in time, and longer than the compute there."},
         {ExposureReason::kUnknown, "unknown",
          "The recording does not say when ranks arrived, or when it was asked for."},
         {ExposureReason::kNeeded, "needed at once",
          "Ranks that share layers compute with it next: nothing could hide it."}});
}

/// Below this share of a collective's own time what is exposed is no finding.
inline constexpr double kLeastExposed = 0.05;

struct Exposure {
    RankId rank;
    CollectiveOp operation{};
    Cause cause = Cause::kNone;
    LayerIndex layer = kNoLayer;
    StepIndex step = kNoStep;
    std::uint32_t group = 0;
    std::uint64_t sequence = 0;
    TimeRange range;
    Duration time;  ///< of it, what is looked at; the next three add up to it
    Duration hidden;
    Duration waiting;  ///< exposed, before the last rank arrived
    Duration moving;   ///< exposed, from there on; all of it where arrivals are not known
    bool waitingKnown = false;
    ExposureReason reason = ExposureReason::kNone;
    std::optional<RankId> late;  ///< whom it waited for; absent where clocks do not tell
    [[nodiscard]] Duration exposed() const { return waiting + moving; }
};

/// Of all collectives of steps, by start. `ranks`, of the recording, say who is in a group.
/// `within`: what of them is looked at, as Overlap counts (trainingTime()); those that lie outside
/// are left out. Null: all of each.
[[nodiscard]] std::vector<Exposure> exposuresOf(const RankEvents& events,
                                                const std::vector<RankEvents>& ranks,
                                                const HostClocks& clocks,
                                                const Intervals* within = nullptr);

/// The same, one at a time: of a long run they take as much memory as its collectives.
void forExposures(const RankEvents& events, const std::vector<RankEvents>& ranks,
                  const HostClocks& clocks, const Intervals* within,
                  const std::function<void(const Exposure&)>& use);

/// Collectives added up, each by itself and on each of its ranks.
struct ExposureSum {
    std::int64_t count = 0;
    Duration whole;  ///< from start to end, as far as it is looked at
    Duration hidden, waiting, moving;
    bool waitingKnown = true;  ///< of all of them
    void add(const Exposure& each);
    [[nodiscard]] Duration exposed() const { return waiting + moving; }
};
using ExposureKind = std::pair<LayerIndex, CollectiveOp>;

/// Why collectives were exposed, and for how long together.
struct ReasonSum {
    ExposureReason reason = ExposureReason::kNone;
    std::int64_t count = 0;
    Duration exposed;
};

/// Exposures of a selection added up.
class ExposureSums {
public:
    void add(const Exposure& each);
    /// By layer and operation; those of no layer under kNoLayer.
    [[nodiscard]] const std::map<ExposureKind, ExposureSum>& byLayer() const { return m_byLayer; }
    /// Most time first; what is exposed of the others, of which it is not of note, under kNone.
    [[nodiscard]] std::vector<ReasonSum> byReason() const;

private:
    std::map<ExposureKind, ExposureSum> m_byLayer;
    std::map<ExposureReason, ReasonSum> m_byReason;
};

}  // namespace shardscope::analysis
