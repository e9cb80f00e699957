// Figures by which the ranks of a run can be put in order, highest first. Pure.
#pragma once

#include "profiler/analysis/report/report.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

struct RankFigure {
    QString name;
    std::vector<std::pair<RankId, double>> values;  ///< of the ranks of which it is known
};

/// What the report has of each of several ranks: times of the ledger, of devices, memory. Of which
/// all ranks have nothing is left out.
[[nodiscard]] std::vector<RankFigure> rankFigures(const analysis::Report& report);
/// Those with the same value by rank.
[[nodiscard]] std::vector<RankId> highestFirst(const RankFigure& figure);

}  // namespace shardscope::desktop
