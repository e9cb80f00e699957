// What the ranks of a measuring run do, step by step: all ranks, the recorder and who reads the
// recording make the same of the same configuration. Pure functions.
//
// Step 0 measures the machine, and norms, where that is asked for; then comes a step for each
// operation and size, operations in their order, sizes of each from small to large.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/events.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::run {

/// Of the input of a norm over its last dim.
struct NormShape {
    std::int64_t rows = 0, width = 0;
    friend bool operator==(const NormShape&, const NormShape&) = default;
};

/// What measureMachine times, in words.
inline constexpr const char* kMachineFigures = "matrix products, memory, launches";

struct MeasurementPlan {
    bool machine = false;
    std::vector<NormShape> norms;
    std::vector<CollectiveOp> operations;
    std::vector<Bytes> sizes;  ///< ascending
    std::int32_t rounds = 1, warmup = 0;
    double seconds = 0;  ///< RunConfig::measureSeconds

    /// Of the operations and sizes.
    struct Item {
        CollectiveOp operation = CollectiveOp::kAllReduce;
        Bytes size;
        friend bool operator==(const Item&, const Item&) = default;
    };
    /// Step 0 is of the first rank of each host, and of no collective.
    [[nodiscard]] bool startsWithMachine() const { return machine || !norms.empty(); }
    [[nodiscard]] std::int32_t steps() const;
    /// Nothing: the step measures the machine, or is none.
    [[nodiscard]] std::optional<Item> itemOf(std::int32_t step) const;
};

/// A payload: whole elements of fp32 for each of `ranks`, at least one; the size rounded down.
[[nodiscard]] Bytes payloadOf(Bytes size, std::int32_t ranks);

/// "512KB,1MB", or "512KB-1GB": the first, then each twice the one before, up to the second.
/// Ascending, each once. kUsage with a sentence.
[[nodiscard]] Result<std::vector<Bytes>> parseMeasuredSizes(std::string_view text);
/// "50000x1024,50000x8192", in that order; empty: none. kUsage with a sentence.
[[nodiscard]] Result<std::vector<NormShape>> parseNormShapes(std::string_view text);
/// Words of CollectiveOp between commas; empty: none. kUsage with a sentence, for messages and
/// barriers too: neither has a payload that all ranks share.
[[nodiscard]] Result<std::vector<CollectiveOp>> parseMeasuredOperations(std::string_view text);

/// Of a run whose work is measuring. Errors are sentences with {option} as run_rules.h has them.
[[nodiscard]] Result<MeasurementPlan> measurementPlan(const RunConfig& config);

/// `config` as a run that measures: without what is about training, its steps those of its plan (as
/// they are where there is none, which validate() tells).
[[nodiscard]] RunConfig measuring(RunConfig config);

/// What a measuring run times, as its options say it, e.g. "all-reduce of 1MB-64MB"; empty: it
/// trains.
[[nodiscard]] std::string measuredText(const RunConfig& config);

/// What can be timed, as the option takes it: "all-gather,reduce-scatter,...".
[[nodiscard]] std::string measurableOperations();

}  // namespace shardscope::run
