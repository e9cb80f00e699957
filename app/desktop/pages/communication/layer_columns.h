// Hidden, exposed and waiting by layer and kind of collective, as columns. Pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "profiler/analysis/communication/exposure.h"

#include <QString>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct LayerColumns {
    QString unit;  ///< of values: "ms", "s"
    std::vector<ColumnGroup> groups;
    std::vector<std::vector<analysis::ExposureKind>> kinds;  ///< of each group's columns
    std::vector<LegendEntry> legend;
};

using LayerSums = std::map<analysis::ExposureKind, analysis::ExposureSum>;
/// `chosen`: emphasised; none: all are.
[[nodiscard]] LayerColumns layerColumns(const LayerSums& sums,
                                        std::optional<analysis::ExposureKind> chosen = {});
/// "all-gather, block 3".
[[nodiscard]] QString kindText(const analysis::ExposureKind& kind);
/// The hatched meaning that goes with an operation's.
[[nodiscard]] Meaning waitingMeaningOf(CollectiveOp operation);

}  // namespace shardscope::desktop
