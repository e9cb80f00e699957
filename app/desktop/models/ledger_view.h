// The step ledger of what is selected, summed up; its figures are those of profiler/analysis. Made
// on the thread that reads: a long run has more rows than one goes through within a frame. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/step_split.h"
#include "profiler/analysis/steps/ledger.h"

#include <QPointF>
#include <QString>
#include <QVector>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Of more ranks there is a heat map instead of a bar each.
inline constexpr std::size_t kMostRankBars = 16;

/// Rows added up.
struct LedgerSum {
    analysis::LedgerParts parts{};
    Duration wall;
    std::int64_t rows = 0;

    void add(const analysis::LedgerRow& row);
    /// What a step takes of each part on the mean: they add up to the mean step.
    [[nodiscard]] analysis::LedgerParts mean() const;
};

struct LedgerView {
    std::vector<RankId> ranks;
    std::vector<LedgerSum> ofRanks;  ///< by place of `ranks`
    LedgerSum all;
    std::optional<StepIndex> first, last;
    /// By step, mean over the ranks: blocked share of the step, its time in ms.
    QVector<QPointF> blockedShares, stepTimes;
    StepSums steps;                 ///< of all ranks
    std::vector<StepSums> byRanks;  ///< by place of `ranks`; none of more than kMostRankBars

    [[nodiscard]] bool empty() const { return all.rows == 0; }
};
/// `steps`: all that were recorded; those without a row are columns without parts.
[[nodiscard]] LedgerView ledgerView(const std::vector<analysis::LedgerRow>& rows,
                                    const std::vector<StepFacts>& steps);

/// part / whole; 0 of nothing.
[[nodiscard]] double share(Duration part, Duration whole);

// What a step is spent on, as bars of a chart: a bar each rank. Pure.

/// In ms, the mean step of each rank.
[[nodiscard]] std::vector<StackedBar> ledgerBars(const LedgerView& ledger);
/// Of all ranks together.
[[nodiscard]] StackedBar meanBar(const LedgerView& ledger);
/// Of the parts that there are.
[[nodiscard]] std::vector<LegendEntry> ledgerLegend(const LedgerView& ledger);

// The ledger of many ranks as a heat map: rank x step, by the share of one part. Pure.

/// What a heat map of the ledger can show: a part's share of the step; all that is blocked.
struct HeatChoice {
    QString name;
    std::optional<analysis::LedgerPart> part;  ///< nullopt: blocked in communication
};
[[nodiscard]] std::vector<HeatChoice> heatChoices(const LedgerView& ledger);
/// Rows and columns of that map.
struct LedgerHeat {
    std::vector<RankId> ranks;
    std::vector<StepIndex> steps;
};
/// By the share of all steps together.
enum class HeatOrder { kByRank, kHighestFirst };
[[nodiscard]] LedgerHeat ledgerAxes(const std::vector<analysis::LedgerRow>& rows,
                                    const HeatChoice& choice, HeatOrder order);
[[nodiscard]] HeatData ledgerHeat(const std::vector<analysis::LedgerRow>& rows,
                                  const HeatChoice& choice, const LedgerHeat& axes);

}  // namespace shardscope::desktop
