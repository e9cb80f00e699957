// What a machine was measured to do, as `shardscope calibrate` finds it: the figures that a step's
// time can be predicted from. Pure functions; files are calibration_store.h.
//
// Units: FLOP/s, bytes a second, seconds, nanoseconds where a name says so; times are unix seconds.
// Samples: of each figure several were taken, one after the other. `best` is what the machine can
// do (of a time the shortest), since nothing makes it faster than it is; `median` what was usual.
// Their interval and that of alpha and beta is the middle 95 % of what resamples give (percentile
// bootstrap, Efron & Tibshirani 1993, chapter 13, formula 13.5): samples of each size are drawn
// with replacement, as many as there are, kResamples times, with a fixed seed, so that the same
// samples always give the same interval. Alpha and beta are of the lower envelope
// (analysis::fitAlphaBeta), of each resample too: the shortest of a resample is never shorter than
// the shortest there was, so that the interval reaches upwards only, from the fit on.
#pragma once

#include "engine/run/config/machine_figure.h"
#include "engine/run/config/run_config.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/planning/compute_times.h"
#include "profiler/planning/plan_times.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::planning {

inline constexpr const char* kCalibrationSchema = "shardscope.calibration/1";
inline constexpr int kResamples = 1'000;
inline constexpr double kCoverage = 0.95;

struct Interval {
    double low = 0, high = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// A figure of the machine. Products of one type are measured at several shapes.
struct MachineRate {
    run::MeasuredFigure what;  ///< its host does not matter
    double best = 0, median = 0;
    Interval interval;  ///< of the median
    std::int32_t samples = 0;
    std::int64_t unixS = 0;  ///< when
};

/// One operation over one communicator: time = alpha + beta x size, of whole payloads (gathered,
/// or before reduction) as analysis::Transfer has them.
struct CollectiveCost {
    CollectiveOp operation = CollectiveOp::kAllReduce;
    run::CommunicatorKind communicator = run::CommunicatorKind::kSharedMemory;
    std::int32_t ranks = 0, hosts = 1;
    std::int32_t threads = 1;  ///< of each rank, while it was measured
    bool sharedCores = false;  ///< more ranks and threads than cores: slower than on enough
    analysis::AlphaBeta fit;
    Interval alphaNs, betaNsPerByte;
    Bytes smallest, largest;
    std::int32_t rounds = 0;  ///< the fewest of a size
    std::optional<double> bestBusBandwidth;
    std::int64_t unixS = 0;  ///< when; runs over other communicators are kept beside each other
};

struct Calibration {
    std::string host;    ///< its name
    std::string device;  ///< of the ranks: the CPU's name, or the GPU's
    run::Device kind = run::Device::kCpu;
    std::int32_t cores = 0;  ///< of the host that ranks may use together
    std::string product;     ///< that measured: "shardscope 0.1.0 (commit)"
    std::int64_t unixS = 0;  ///< when the machine's figures were measured
    bool quick = false;      ///< they were, with fewer samples
    std::vector<MachineRate> rates;
    std::vector<CollectiveCost> collectives;
};

/// FLOP/s of products in this type, all threads of the host together or one GPU: the best of all
/// shapes, or of the shape nearest to rows x inner x columns (by the product of the three ratios).
[[nodiscard]] std::optional<double> matmulFlops(const Calibration& calibration,
                                                run::Precision precision);
[[nodiscard]] std::optional<double> matmulFlops(const Calibration& calibration,
                                                run::Precision precision, std::int64_t rows,
                                                std::int64_t inner, std::int64_t columns);
/// The best of another figure: B/s, or seconds of a launch.
[[nodiscard]] std::optional<double> rateOf(const Calibration& calibration,
                                           run::MachineFigure figure);

/// What a collective costs.
struct PredictedCost {
    analysis::AlphaBeta cost;
    bool measured = false;  ///< else estimated from `ranks` ranks: alpha x (n - 1) / (m - 1), as a
                            ///< ring takes steps, beta by the bus factors
    const CollectiveCost* from = nullptr;  ///< of the calibration
};
/// Nothing where the operation was never measured over this communicator and so many hosts.
[[nodiscard]] std::optional<PredictedCost> costOf(const Calibration& calibration,
                                                  CollectiveOp operation,
                                                  run::CommunicatorKind communicator,
                                                  std::int32_t ranks, std::int32_t hosts = 1);

/// "3 days": how long ago, the largest unit that is at least one; "less than a minute".
[[nodiscard]] std::string ageText(std::int64_t unixS, std::int64_t nowS);
/// Older than this a calibration is used and said to be old: cooling, clocks and drivers change.
inline constexpr std::int64_t kOldCalibrationS = 90LL * 24 * 3600;

/// What a measuring run recorded.
struct MeasuredRecording {
    RecordingSummary summary;
    run::RunConfig config;
    std::vector<analysis::Transfer> transfers;  ///< timed rounds only
};
/// Of rank 0's host. Runs of the same machine one after the other are merged().
[[nodiscard]] Calibration calibrationOf(const MeasuredRecording& run);
/// Of a figure that both have the better one, for as long as it is not old: other work takes from
/// what a machine does, and nothing adds to it. Else `newer`, with what only `older` has: the rates
/// of a run that measured no machine, collectives of other operations, communicators, ranks and
/// hosts.
[[nodiscard]] Calibration merged(Calibration newer, const Calibration& older);

/// Fit and intervals of one operation's times; nothing where fitAlphaBeta() has nothing.
struct FittedCost {
    analysis::AlphaBeta fit;
    Interval alphaNs, betaNsPerByte;
};
[[nodiscard]] std::optional<FittedCost> fitWithInterval(
    const std::vector<analysis::SizedTime>& times);
/// Of the median of samples in any order; not empty.
[[nodiscard]] Interval medianInterval(const std::vector<double>& samples);

/// What `shardscope calibrate` says before each of its runs, and the window reads.
struct CalibrationProgress {
    std::string subject;    ///< "the machine and shared memory between 2 ranks"
    int run = 1, runs = 1;  ///< the first is 1
};
/// "Measuring the machine (1 of 2)."
[[nodiscard]] std::string textOf(const CalibrationProgress& progress);
/// Nothing: the line says something else.
[[nodiscard]] std::optional<CalibrationProgress> parseCalibrationProgress(std::string_view line);

[[nodiscard]] std::string toJson(const Calibration& calibration);
/// kUnreadable with a sentence on what is no calibration or is damaged.
[[nodiscard]] Result<Calibration> parseCalibration(std::string_view json);

// How long steps take on a machine that was calibrated, before anything was trained on it. Pure
// functions; everything is estimated.

/// This engine on CPUs, of the peak of matrix products of the cores that it has: 0.79 was measured
/// (docs/plan_and_bench.md).
inline constexpr Utilisation kCpuUtilisation{0.75, 0.6, 0.9};

/// All ranks on the calibrated host, which share its cores; the link is what was fitted over the
/// communicator that `config` would use, of any number of ranks. Absent where products of this
/// precision or memory were not measured. `nowS`: unix seconds, for the age.
[[nodiscard]] std::optional<PlanTimes> timesOfCalibration(const Calibration& calibration,
                                                          const run::RunConfig& config,
                                                          std::int64_t nowS);

}  // namespace shardscope::planning
