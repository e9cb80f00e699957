// How much of a step a recording holds, where it is less than the run's capture level.
//
// Steps, metrics and diagnostics are always there; their detail may never have been recorded, not
// have been kept, or have been thinned since. Rows of the table `detail`
// (storage/schema/FORMAT.md).
#pragma once

#include "storage/model/events.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// What is recorded of a step; each level contains the one before. off: nothing; steps: steps and
/// metrics; light: and phases, collectives; full: and operators, memory events.
enum class CaptureLevel : std::uint8_t { kOff = 0, kSteps = 1, kLight = 2, kFull = 3 };
struct CaptureLevelWords {
    CaptureLevel value;
    const char* word;
    const char* note;  ///< what it holds, in a few words
};
constexpr auto wordsOf(CaptureLevel) {
    return wordList<CaptureLevelWords>(
        {{CaptureLevel::kOff, "off", "nothing"},
         {CaptureLevel::kSteps, "steps", "steps and metrics"},
         {CaptureLevel::kLight, "light", "also phases and collectives"},
         {CaptureLevel::kFull, "full", "also operators and memory"}});
}

/// Whether only full holds what is on a lane of this role. Memory events are likewise.
[[nodiscard]] constexpr bool isFullOnly(LaneRole role) {
    return role == LaneRole::kHost || role == LaneRole::kRuntime || role == LaneRole::kSync;
}

/// Why steps are held at less than the run's capture level.
enum class DetailReason : std::uint8_t {
    kSchedule = 1,  ///< the run's capture schedule left them out
    kNotSlow = 2,   ///< recorded, but only slow steps were to be kept
    kMaxSize = 3,   ///< thinned: the file would have grown past its largest size
    kMaxRate = 4,   ///< thinned: it grew faster than it was to
    kRequest = 5,   ///< left out on request while the run went on
    kKeepLast = 6,  ///< recorded, but only the time before something happened was to be kept
};
struct DetailReasonWords {
    DetailReason value;
    const char* word;  ///< the option, or what else, that asked for it
    const char* fate;  ///< was in the file, was seen, was never there
};
constexpr auto wordsOf(DetailReason) {
    return wordList<DetailReasonWords>(
        {{DetailReason::kSchedule, "the capture schedule", "not recorded"},
         {DetailReason::kNotSlow, "--capture-slow", "not kept"},
         {DetailReason::kMaxSize, "--max-size", "thinned"},
         {DetailReason::kMaxRate, "--max-rate", "thinned"},
         {DetailReason::kRequest, "a request during the run", "not recorded"},
         {DetailReason::kKeepLast, "--keep-last", "not kept"}});
}
/// "thinned", "not kept" or "not recorded".
[[nodiscard]] constexpr const char* fateOf(DetailReason reason) {
    const DetailReasonWords* words = entryOf(reason);
    return words != nullptr ? words->fate : "not recorded";
}
/// Detail was in the file and has been taken out again.
[[nodiscard]] constexpr bool isThinned(DetailReason reason) {
    return fateOf(reason) == std::string_view("thinned");
}

/// Most bytes that a rank had allocated within some time, and when.
struct MemoryPeak {
    Timestamp time;
    Bytes size;
    std::array<Bytes, kMemoryCategoryCount> byCategory{};
    friend bool operator==(const MemoryPeak&, const MemoryPeak&) = default;
};

/// A stretch of steps of a rank that is held at `level`, or less where another one says so.
struct DetailFacts {
    RankId rank;
    StepIndex first;  ///< first and last step, both within
    StepIndex last;
    TimeRange range;  ///< what started in it is left out
    CaptureLevel level = CaptureLevel::kSteps;
    DetailReason reason = DetailReason::kSchedule;
    /// Events that were seen and are not in the file; absent where they were not counted.
    std::optional<std::uint64_t> removed;
    /// Of memory events that are not in the file any more.
    std::optional<MemoryPeak> peak;
    friend bool operator==(const DetailFacts&, const DetailFacts&) = default;
};

/// The level of every step of a run, looked up fast.
class StepDetail {
public:
    StepDetail() = default;
    explicit StepDetail(const std::vector<DetailFacts>& rows);

    /// Of what the run's capture level holds: kFull where nothing was left out.
    [[nodiscard]] CaptureLevel of(RankId rank, StepIndex step) const;
    [[nodiscard]] bool empty() const { return m_byRank.empty(); }

private:
    /// First step from which on a level holds, until the next entry.
    using Levels = std::map<std::int64_t, CaptureLevel>;
    std::map<RankId, Levels> m_byRank;
};

/// What was left out of a run, summed up over its ranks.
struct DetailGroup {
    CaptureLevel level = CaptureLevel::kSteps;  ///< what is left
    DetailReason reason = DetailReason::kSchedule;
    StepIndex first, last;  ///< of all its steps
    std::int64_t steps = 0;
    std::int64_t stretches = 0;  ///< of steps without a gap
    std::uint64_t removed = 0;
    bool counted = true;  ///< `removed` is all of it
};
/// By level, then reason: the lowest level first.
[[nodiscard]] std::vector<DetailGroup> groupDetail(const std::vector<DetailFacts>& rows);
/// "detail of steps 0 to 812 thinned to level steps by --max-size": no capital, no stop.
[[nodiscard]] std::string phraseOf(const DetailGroup& group);
/// Those of all groups.
[[nodiscard]] std::vector<std::string> detailPhrases(const std::vector<DetailFacts>& rows);

/// Until when a rank's detail was thinned: of what only full holds, or of everything. What started
/// before is not in the file. kBeginningOfTime where nothing was.
[[nodiscard]] Timestamp thinnedUntil(const std::vector<DetailFacts>& rows, RankId rank,
                                     bool fullOnly);
/// Before every event.
inline constexpr Timestamp kBeginningOfTime{-(std::int64_t{1} << 62)};

}  // namespace shardscope
