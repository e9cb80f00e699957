// What pages draw of a part step by step: curves of what was reported, sums of the ledger. Made on
// the thread that reads the part, shared by all pages. Immutable.
#pragma once

#include "app/desktop/models/ledger_view.h"
#include "storage/model/recording.h"

#include <QPointF>
#include <QVector>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::desktop {

/// As ranks report it.
inline constexpr const char* kThroughputMetric = "tokens_per_s";

/// By step.
struct StepCurves {
    std::map<std::string, QVector<QPointF>, std::less<>> metrics;  ///< as reported, by name
    QVector<QPointF> throughput;  ///< of all ranks, as the report defines it
    QVector<QPointF> times;       ///< from the first rank's beginning to the last one's end, in ms

    /// Of a metric; of throughput as the report defines it. Rank 0's own, which it reported, stands
    /// for it where steps do not say how many tokens they have.
    [[nodiscard]] const QVector<QPointF>& of(std::string_view metric) const;
};
/// Throughput and times of `ranks` instead of all; none: all. The rest is of all.
[[nodiscard]] StepCurves stepCurves(const RecordingSummary& summary,
                                    const std::vector<RankId>& ranks = {});

struct StepFigures {
    StepCurves curves;
    LedgerView ledger;
};
using StepFiguresPtr = std::shared_ptr<const StepFigures>;
[[nodiscard]] StepFiguresPtr stepFigures(const RecordingSummary& summary,
                                         const std::vector<analysis::LedgerRow>& ledger);

}  // namespace shardscope::desktop
