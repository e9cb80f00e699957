// What the Efficiency page says and draws, of the answers that its queries read. Pure.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/pages/efficiency/efficiency_query.h"

#include <QPointF>
#include <QString>
#include <QVector>
#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// MFU by one way to count FLOPs.
struct MfuVariant {
    QString word;  ///< "palm"
    double flopsPerToken = 0;
    double flopsPerSecond = 0;  ///< of all ranks
    std::optional<double> mfu;  ///< 0 to 1 and, of a wrong peak, beyond
};
/// What is unknown, in sentences, without what `headline` says already.
[[nodiscard]] QStringList otherUnknown(const EfficiencyFrame& frame, const QString& headline);
/// As the question lists them; empty: unknown.
[[nodiscard]] std::vector<MfuVariant> mfuVariants(const questions::Answer& answer);
/// palm where `word` is none of them; null: there are none.
[[nodiscard]] const MfuVariant* findVariant(const std::vector<MfuVariant>& variants,
                                            const QString& word);

/// "24.9 % MFU (palm): 50.6 of 203 GFLOP/s, measured"
[[nodiscard]] QString efficiencyHeadline(const EfficiencyFrame& frame, const QString& variant);
/// Target, goodput, HFU, and what the figures are about.
[[nodiscard]] QString efficiencySubline(const EfficiencyFrame& frame, const QString& variant,
                                        const Targets& targets);
/// Whether there is anything to draw or list.
[[nodiscard]] bool hasEfficiency(const EfficiencyFrame& frame);
/// Why not, or what is missing.
[[nodiscard]] QString missingEfficiency(const EfficiencyFrame& frame);

/// MFU of each step in percent; empty where it is unknown.
[[nodiscard]] QVector<QPointF> mfuBySteps(const EfficiencyFrame& frame, const QString& variant);

/// Achieved speed of phases and layers, mean of a rank.
struct PartColumns {
    QString unit;  ///< of values: "GFLOP/s"
    std::vector<ColumnGroup> groups;
    struct Part {
        QString phase;
        questions::Cell layer;
        friend bool operator==(const Part&, const Part&) = default;
    };
    std::vector<std::vector<Part>> parts;  ///< of each group's columns
    std::vector<LegendEntry> legend;
    std::vector<ChartMark> peak;  ///< mean of a rank; none: not known
    QString note;
};
/// `chosen`: the others are pale.
[[nodiscard]] PartColumns partColumns(const questions::Answer& answer,
                                      const std::optional<PartColumns::Part>& chosen = {});

/// Rows that a table of ranks has at most.
inline constexpr std::size_t kMostRankRows = 2000;
/// The speed of phases and layers of each rank, of one part or all; ranks by row.
struct RankParts {
    AnswerTable table;
    std::vector<RankId> ranks;
};
[[nodiscard]] RankParts rankParts(const questions::Answer& answer,
                                  const std::optional<PartColumns::Part>& chosen);
/// A table that begins with ranks, whose second column goes first: it needs the room that is left.
void ranksSecond(AnswerTable& table);
/// Of a table with a column "rank".
[[nodiscard]] std::optional<RankId> rankOfRow(const questions::Table& table, int row);

/// Where the wall time of all ranks went, as one bar of seconds.
struct GoodputBar {
    StackedBar bar;
    std::vector<LegendEntry> legend;
};
/// None: unknown.
[[nodiscard]] std::optional<GoodputBar> goodputBar(const questions::Answer& answer);

/// Over the number of ranks.
struct ScalingCharts {
    std::vector<LineSeries> efficiency;  ///< percent
    std::vector<BandSeries> interval;    ///< of it
    std::vector<LineSeries> throughput;  ///< tok/s, and what all ranks as fast as one would reach
};
[[nodiscard]] ScalingCharts scalingCharts(const questions::Answer& answer);

}  // namespace shardscope::desktop
