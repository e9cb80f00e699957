#include "app/desktop/models/selected_part.h"

#include "profiler/analysis/part.h"
#include "storage/model/step_facts.h"

#include <algorithm>

namespace shardscope::desktop {

std::optional<StepIndex> oneStep(const Selection& selection) {
    if (!selection.steps || selection.steps->first != selection.steps->last) return std::nullopt;
    return selection.steps->first;
}

const analysis::SlowStepFound* findSlow(const analysis::Report& report, StepIndex step) {
    const auto& slow = report.slowSteps;
    const auto found = std::lower_bound(
        slow.begin(), slow.end(), step,
        [](const analysis::SlowStepFound& each, StepIndex wanted) { return each.step < wanted; });
    return found == slow.end() || found->step != step ? nullptr : &*found;
}

StepFiguresPtr figuresOf(const OpenRecording& recording) {
    return recording.figures ? recording.figures
                             : stepFigures(recording.summary, recording.report.ledger);
}

PartPtr wholePart(const RecordingPtr& recording) {
    auto part = std::make_shared<SelectedPart>();
    part->recording = recording;
    part->summary = std::shared_ptr<const RecordingSummary>(recording, &recording->summary);
    part->report = std::shared_ptr<const analysis::Report>(recording, &recording->report);
    part->figures = figuresOf(*recording);
    return part;
}

PartPtr emptyPart(const RecordingPtr& recording, const Selection& selection,
                  const QString& refusal) {
    auto part = std::make_shared<SelectedPart>();
    part->recording = recording;
    part->selection = selection;
    part->refusal = refusal;
    auto summary = std::make_shared<RecordingSummary>(recording->summary);
    summary->steps.clear();
    summary->metrics.clear();
    part->summary = std::move(summary);
    auto report = std::make_shared<analysis::Report>();
    report->run = recording->report.run;
    analysis::takeTrust(recording->report, *report);
    part->report = std::move(report);
    part->figures = stepFigures(*part->summary, part->report->ledger);
    return part;
}

}  // namespace shardscope::desktop
