// Whether one run's figure differs from another's: a statement about samples, one a step.
//
// Change = median of the second / median of the first - 1. Its interval is the middle 99.7 % of
// what resampled runs give: circular blocks of n^(1/3) steps, because neighbouring steps resemble
// each other (Politis & Romano 1992; Efron & Tibshirani 1993, 13.3 percentile interval). The same
// samples always give the same interval. Of 20 steps and more it is widened by how far the level of
// each run wanders: as neighbours on a machine make a run change slowly, they make runs differ.
// What is the same throughout a run and different in the next, several baselines show.
#pragma once

#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::analysis {

enum class Verdict : std::uint8_t { kImproved, kRegressed, kNoChange, kUnknown };
constexpr auto wordsOf(Verdict) {
    return wordList<Word<Verdict>>({{Verdict::kImproved, "improved"},
                                    {Verdict::kRegressed, "regressed"},
                                    {Verdict::kNoChange, "no change"},
                                    {Verdict::kUnknown, "unknown"}});
}

enum class Better : std::uint8_t { kLower, kHigher };

/// A difference is named from here on, however sure it is: two runs are never quite alike.
inline constexpr double kLeastChange = 0.01;
/// "No change" says that a change of so much or more can be left out.
inline constexpr double kSoughtChange = 0.05;
/// Below it nothing is said of samples.
inline constexpr std::size_t kLeastSamples = 6;

struct Difference {
    std::optional<double> first, second;              ///< medians
    std::optional<double> firstSpread, secondSpread;  ///< between the quartiles
    std::optional<double> change;                     ///< of the first; absent where that is zero
    std::optional<double> low, high;                  ///< interval of the change
    Verdict verdict = Verdict::kUnknown;
    /// Where cores were taken: the same of running time, which the verdict is of (grounds.h).
    struct Judged {
        double change = 0, low = 0, high = 0;
    };
    std::optional<Judged> judged{};
    std::string reason{};  ///< why the verdict is of running time, or there is none; a phrase
    /// There is no verdict for that reason.
    [[nodiscard]] bool isUnfounded() const { return !reason.empty() && !judged; }
};

/// In order of steps, all above or equal to zero.
[[nodiscard]] Difference differenceOf(const std::vector<double>& first,
                                      const std::vector<double>& second, Better better);

/// Of figures that do not vary from step to step and are exact, as bytes are: a change of
/// kLeastChange or more is one.
[[nodiscard]] Difference exactDifference(std::optional<double> first, std::optional<double> second,
                                         Better better);

}  // namespace shardscope::analysis
