// What the Overview says about a recording: sentence, cards, ledger, findings. Pure functions
// of the report and the selection; nothing here paints.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/findings.h"
#include "app/desktop/models/format.h"
#include "app/desktop/models/ledger_view.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/models/targets.h"

#include <QString>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct CardContent {
    QString title;
    QString briefTitle;  ///< where the title does not fit; empty: it always does
    ValueText value;
    QString qualifier;   ///< behind the unit: "of 0.83 possible"
    QString detail;      ///< numerator and denominator
    QString definition;  ///< what `?` says: definition, formula, source
    QVector<QPointF> trend;
    QString verdict;  ///< "PASS ≥ 40 %"
    bool verdictGood = true;
};

[[nodiscard]] QString overviewHeadline(const SelectedPart& part, const LedgerView& ledger);
[[nodiscard]] QString overviewSubline(const SelectedPart& part);
[[nodiscard]] std::vector<CardContent> overviewCards(const SelectedPart& part,
                                                     const LedgerView& ledger,
                                                     const Targets& targets = {});
/// What the traced devices of a part did, together.
struct DeviceSums {
    Duration compute, communication, hidden, copies, unused, whole;  ///< as DeviceUse has them
    std::int64_t kernels = 0;
    std::size_t devices = 0;
};
[[nodiscard]] DeviceSums deviceSums(const SelectedPart& part);

/// Of another tool's trace: what its device did, where it has one.
[[nodiscard]] std::vector<CardContent> importedCards(const SelectedPart& part,
                                                     const LedgerView& ledger);
/// Those that a recording of its kind has.
[[nodiscard]] std::vector<CardContent> cardsOf(const SelectedPart& part, const LedgerView& ledger,
                                               const Targets& targets = {});
/// The median step of a program or a trace.
[[nodiscard]] CardContent stepCard(const SelectedPart& part, const LedgerView& ledger);
/// Of any recording.
[[nodiscard]] CardContent memoryCard(const SelectedPart& part);
/// Of one step also what the median of the others is and how much more it took.
[[nodiscard]] std::vector<TableColumn> partsColumns(const SelectedPart& part);
[[nodiscard]] std::vector<std::vector<TableCell>> partsRows(const SelectedPart& part);
/// Name and value of the run's facts: configuration, host, file.
[[nodiscard]] std::vector<std::pair<QString, QString>> runFacts(const OpenRecording& recording);

}  // namespace shardscope::desktop
