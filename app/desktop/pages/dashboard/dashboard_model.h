// The dashboard: sixteen pictures of a run on one sheet, as plain values. Loader thread or any;
// pure.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/step_split.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/widgets/pictures/gauges.h"
#include "storage/model/step_facts.h"

#include <QString>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace shardscope::desktop {

/// Curves, or a histogram.
struct ChartTile {
    QString unit;
    QString bottom;
    std::vector<LineSeries> lines;
    std::optional<Histogram> histogram;
    std::vector<ChartMark> marks;    ///< at values of x
    std::vector<ChartMark> targets;  ///< at values of y
    bool startsAtZero = true;
    bool logarithmic = false;  ///< both axes
    bool whole = true;         ///< x are whole numbers
    QString absent;            ///< said where there is no point
};

enum class BarUnit { kMilliseconds, kBytes, kCount };

struct BarsTile {
    std::vector<StackedBar> bars;
    std::vector<LegendEntry> legend;
    BarUnit unit = BarUnit::kMilliseconds;
    QString axis;
};

struct ColumnsTile {
    std::vector<StackedBar> columns;
    std::vector<LegendEntry> legend;
};

struct GaugesTile {
    std::vector<Gauge> gauges;
};

struct FlowTile {
    std::vector<SpanRow> rows;
    double end = 0;  ///< ms
};

/// Why there is no picture.
struct AbsentTile {
    QString why;
};

struct DashboardTile {
    QString title;
    QString definition;
    std::variant<ChartTile, BarsTile, ColumnsTile, GaugesTile, FlowTile, AbsentTile> content;
};

struct Dashboard {
    QString title;    ///< what was recorded
    QString summary;  ///< its main figures
    QString notes;    ///< what limits trust in it; empty: nothing
    QString leftOut;  ///< which pictures, and why; empty: none
    std::vector<DashboardTile> tiles;
};
using DashboardPtr = std::shared_ptr<const Dashboard>;

/// Of one step of a rank; events of its time.
struct FlowOfStep {
    StepFacts step;
    RankEvents events;
};

/// "220,679 tok/s: a step takes 2.32 ms (median of 36), at 24.9 % MFU."
[[nodiscard]] QString dashboardHeadline(const SelectedPart& part);

[[nodiscard]] Dashboard dashboardOf(const SelectedPart& part, const Targets& targets,
                                    const std::optional<FlowOfStep>& flow);

}  // namespace shardscope::desktop
