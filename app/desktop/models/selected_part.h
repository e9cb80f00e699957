// What the selection leaves of the open recording, with its report. Immutable; shared between the
// loader and GUI threads.
#pragma once

#include "app/desktop/models/curves.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/report/report.h"

#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct SelectedPart {
    RecordingPtr recording;
    Selection selection;
    /// Of what is selected: its ranks, its whole steps, their metrics.
    std::shared_ptr<const RecordingSummary> summary;
    /// Figures and findings of the part; certificate and drops of the whole recording.
    std::shared_ptr<const analysis::Report> report;
    /// Of these two.
    StepFiguresPtr figures;
    /// Where time is cut: all steps of the recording on the selected ranks, to see the selected
    /// ones among the others. By place of figures->ledger.ranks; one, the mean, where these are
    /// none or too many for bars.
    std::vector<StepSums> around;
    /// Where one step is selected: it against the others of the recording, on the selected ranks.
    std::optional<analysis::AgainstMedian> against;
    QString refusal;  ///< why nothing is left of it: summary and report are those of no step then
};

using PartPtr = std::shared_ptr<const SelectedPart>;

/// The one step that is selected; nullopt: several are, or a stretch of time.
[[nodiscard]] std::optional<StepIndex> oneStep(const Selection& selection);
/// Null: the step does not stand out.
[[nodiscard]] const analysis::SlowStepFound* findSlow(const analysis::Report& report,
                                                      StepIndex step);

/// As they were read with the recording; else made here.
[[nodiscard]] StepFiguresPtr figuresOf(const OpenRecording& recording);

/// All of it.
[[nodiscard]] PartPtr wholePart(const RecordingPtr& recording);
/// Nothing, and why.
[[nodiscard]] PartPtr emptyPart(const RecordingPtr& recording, const Selection& selection,
                                const QString& refusal);

}  // namespace shardscope::desktop
