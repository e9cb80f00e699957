// What the Operators & kernels page says and draws, of what its queries read. Pure.
#pragma once

#include "app/desktop/models/answer_table.h"
#include "app/desktop/models/chart_data.h"
#include "app/desktop/pages/operators/operators_query.h"
#include "profiler/analysis/steps/call_tree.h"

#include <QString>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// "aten::mm takes 45.8 % of the operators' self time: 517 ms of 1.13 s"
[[nodiscard]] QString workHeadline(const WorkFrame& frame);
[[nodiscard]] QString workSubline(const WorkFrame& frame);
/// Whether operators, kernels or collectives are in what is selected.
[[nodiscard]] bool hasWork(const WorkFrame& frame);
/// Why it is not there, as the command line says it.
[[nodiscard]] QString noWorkText(const WorkFrame& frame);

/// A table of the page, and whose names its rows bear.
struct WorkTable {
    const char* key;
    AnswerTable table;
    std::vector<questions::StackKind> kinds;  ///< empty: its rows are not spans of a name
    QStringList names;                        ///< of its rows, where they are
};
[[nodiscard]] std::vector<WorkTable> workTables(const WorkFrame& frame);
/// The notes of the answer, and what is unknown.
[[nodiscard]] QString notesText(const questions::Answer& answer);
/// What is unknown, a sentence each, up to a few.
[[nodiscard]] QString unknownText(const questions::Answer& answer);

/// Of callers or callees: name, time, share of `calls.total`, count.
[[nodiscard]] std::vector<TableColumn> edgeColumns(const QString& title);
[[nodiscard]] TableRows edgeRows(const analysis::CallTree& tree, const analysis::CallsOf& calls,
                                 const std::vector<analysis::CallEdge>& edges);

/// What a name took itself, as the first of its callees: with it they add up to the total.
[[nodiscard]] std::vector<TableCell> ownRow(const analysis::CallsOf& calls);

/// Steps of work in queue over time, a line a stream.
[[nodiscard]] std::vector<LineSeries> queueLines(const std::vector<questions::StreamQueue>& queues);

struct Roofline {
    std::vector<LineSeries> lines;  ///< products first, then the roofs that are known
    double low = 0, high = 0;       ///< FLOPs a byte
    QString note;                   ///< what is drawn, by what, and what is missing
};
/// None: no product says its shape and type.
[[nodiscard]] std::optional<Roofline> rooflineOf(const questions::Answer& work);

}  // namespace shardscope::desktop
