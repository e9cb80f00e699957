// What two runs are compared by: figures of each steady step, and those of the run as a whole.
#pragma once

#include "profiler/analysis/difference.h"
#include "profiler/analysis/report.h"
#include "storage/model/recording.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

struct RunFigure {
    std::string key;        ///< "throughput.tokens_per_s": also what gate rules name
    const char* unit = "";  ///< "ns", "bytes", "tokens/s", ""
    Better better = Better::kLower;
    std::vector<double> samples;  ///< by steady step; empty for figures of a run
    std::optional<double> whole;  ///< of the run, exact
};

/// Step time and throughput of all ranks; communication, what of it was exposed, and the ledger's
/// parts as means over ranks; losses of the last quarter of the steps; memory at its peak, of the
/// rank that needs most. Figures that were not recorded are left out.
[[nodiscard]] std::vector<RunFigure> runFigures(const RecordingSummary& summary,
                                                const std::vector<RankEvents>& ranks,
                                                const Report& report);

/// By key; null: there is none.
[[nodiscard]] const RunFigure* findFigure(const std::vector<RunFigure>& figures,
                                          std::string_view key);

/// Of two lists all keys, in the first one's order, what only the second has behind.
[[nodiscard]] std::vector<std::string> keysOf(const std::vector<RunFigure>& first,
                                              const std::vector<RunFigure>& second);

[[nodiscard]] Difference differenceOf(const RunFigure& first, const RunFigure& second);

}  // namespace shardscope::analysis
