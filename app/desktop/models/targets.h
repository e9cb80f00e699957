// What a run is held against, PASS or FAIL: the user's own figures, kept in the settings file.
// All verdicts come from here. Shares are 0 to 1.
#pragma once

#include <QString>
#include <optional>

namespace shardscope::desktop {

struct Targets {
    double mfu = 0.40;            ///< at least
    double scaling = 0.80;        ///< at least, of the tokens/s of one rank times the ranks
    double communication = 0.20;  ///< at most, of step time
    friend bool operator==(const Targets&, const Targets&) = default;
};

struct TargetVerdict {
    bool passes = false;
    QString text;  ///< "PASS ≥ 40 %"
};
[[nodiscard]] TargetVerdict atLeast(double value, double target);
[[nodiscard]] TargetVerdict atMost(double value, double target);

/// In the place of PASS or FAIL, where the figure is not to be relied on.
[[nodiscard]] QString unsureWord();

/// `file`: an ini file; empty, or without these: as they are above.
[[nodiscard]] Targets readTargets(const QString& file);
/// Keeps nothing where `file` is empty.
void writeTargets(const QString& file, const Targets& targets);

}  // namespace shardscope::desktop
