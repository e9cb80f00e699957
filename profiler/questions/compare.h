// Two or more recordings against each other: may they be compared, what differs beyond
// noise, and which operators, kernels, collectives and memory make the difference.
#pragma once

#include "profiler/analysis/compare/difference.h"
#include "profiler/analysis/compare/grounds.h"
#include "profiler/analysis/compare/run_figures.h"
#include "profiler/analysis/report/report.h"
#include "profiler/analysis/steps/training_health.h"
#include "profiler/questions/answer/answer.h"
#include "profiler/questions/selection.h"
#include "storage/model/recording.h"
#include "storage/recording/read/recording_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::questions {

struct CompareOptions {
    bool anyway = false;  ///< also what is of different work
    std::vector<analysis::GateRule> rules;
    Selection selection = {};  ///< of each of them
    analysis::SideNames names = {};
};

/// One of them, as far as it is compared.
struct ComparedSide {
    RecordingSummary summary;
    analysis::Report report;
};

/// A figure of both; its row of the answer's table says the same.
struct ComparedFigure {
    std::string key;  ///< "step.time_ns"
    Unit unit = Unit::kNone;
    analysis::Difference difference;
};

struct Compared {
    Answer answer;
    std::optional<analysis::GateState> gate{};  ///< the worst of the rules; none: no rules
    std::vector<ComparedSide> sides;            ///< in the order of the recordings
    std::vector<ComparedFigure> figures = {};
};

/// The last recording against those before it, whose steps are taken together. kUsage: they cannot
/// be compared, or the selection leaves nothing of one, and why.
Result<Compared> compareRecordings(const std::vector<storage::RecordingReader*>& recordings,
                                   const CompareOptions& options);

/// Whether and from where on they differ; of curves that have steps.
[[nodiscard]] std::string lossSentence(const analysis::LossCurves& curves);

/// Losses of two runs side by side, and that sentence.
void addLossCurves(const RecordingSummary& first, const RecordingSummary& second, Answer& answer);

}  // namespace shardscope::questions
