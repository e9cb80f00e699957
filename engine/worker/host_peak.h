// What the cores of this host reach together in matrix products: the denominator of MFU on CPUs.
//
// One figure a processor, type and number of threads, and not of the moment: bursts are repeated
// until the best ones agree, and the best of earlier runs is kept in a file, so that a machine that
// is shared gives the same figure to each run. A best of many cannot exceed what the machine has,
// unless its clock does.
#pragma once

#include "engine/run/config/run_words.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::worker {

struct HostPeak {
    double flops = 0;        ///< FLOP/s of all threads together, of the best burst
    bool stable = false;     ///< the best bursts agree to kPeakAgreement
    std::int64_t unixS = 0;  ///< when it was measured
    friend bool operator==(const HostPeak&, const HostPeak&) = default;
};

/// How far the last of the kAgreeingBursts best may lie below the best.
inline constexpr double kPeakAgreement = 0.02;
inline constexpr std::size_t kAgreeingBursts = 5;
/// A kept figure is measured anew after this long.
inline constexpr std::int64_t kPeakKeptS = 90 * 24 * 3600;

/// Calls `burst` (FLOP/s of one product) at least until `enough()`, and until the best agree or
/// `atMost()`.
[[nodiscard]] HostPeak measureHostPeak(const std::function<double()>& burst,
                                       const std::function<bool()>& enough,
                                       const std::function<bool()>& atMost);

/// Of threads times what one reaches alone: below it other work had some of their cores all the
/// time, and bursts agree on what was left. Clocks fall by less when all cores work.
inline constexpr double kLeastScaling = 0.6;
/// `oneThread`: FLOP/s of one thread alone.
[[nodiscard]] bool isPlausible(const HostPeak& together, double oneThread, int threads);

/// A kernel that was chosen in an earlier run is taken again, unless another takes less than this
/// of its time: where two are about as fast, runs of equal settings would otherwise take one or the
/// other by chance, and differ in time and memory.
inline constexpr double kClearlyFaster = 0.75;
/// Of two kernels whether the second is to be taken. `ratio`: the second's time over the first's.
[[nodiscard]] bool takesSecond(std::optional<bool> kept, double ratio);

/// Figures and choices of earlier runs in one small JSON file. A file that is missing or damaged
/// holds none; one that cannot be written keeps none: a run goes on without.
class PeakStore {
public:
    /// Empty path: nothing is kept.
    explicit PeakStore(std::string path) : m_path(std::move(path)) {}

    [[nodiscard]] std::optional<HostPeak> find(const std::string& key, std::int64_t nowS) const;
    void keep(const std::string& key, const HostPeak& peak) const;
    /// Whether the second of two kernels was chosen; kept as long as a peak.
    [[nodiscard]] std::optional<bool> findChoice(const std::string& key, std::int64_t nowS) const;
    void keepChoice(const std::string& key, bool second, std::int64_t nowS) const;

private:
    void write(const std::string& key, std::string_view entry) const;
    std::string m_path;
};

/// $XDG_CACHE_HOME/shardscope/peaks.json, below $HOME/.cache without; empty without either.
[[nodiscard]] std::string peakStorePath();

/// The figure to go by: the better of what was kept and what was just measured.
struct ChosenPeak {
    HostPeak peak;
    /// How it was found, for the recording. Begins with kUnsurePeak where the bursts did not agree.
    std::string source;
};
[[nodiscard]] ChosenPeak choosePeak(const std::optional<HostPeak>& kept, const HostPeak& measured,
                                    const std::string& what);

// Under which name a figure of this host is kept.

/// The processor, how its products are made by the matrix library in use, how many threads make
/// them.
[[nodiscard]] std::string hostPeakKey(run::Precision precision, int threads);
/// `what` of ranks with so many threads each, so many of them on this host.
[[nodiscard]] std::string choiceKey(std::string_view what, int threads, int localRanks);

}  // namespace shardscope::worker
