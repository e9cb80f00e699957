// What the pages show without asking the loader again: rows and report of one recording. Immutable
// once loaded; shared between the loader and GUI threads.
#pragma once

#include "app/desktop/models/selection.h"
#include "engine/run/config/program_run.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/recording.h"

#include <QMetaType>
#include <QString>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

struct StepFigures;

/// What became of a trace's events: names and values, for people.
using ImportFacts = std::vector<std::pair<QString, QString>>;

/// How far an import is.
struct ImportProgress {
    double share = 0;    ///< of what is to be read, that was
    bool again = false;  ///< it was read once, and is read once more
};

/// From step to step: by number, or by the time that it took, from the slowest on.
enum class StepWalk { kNext, kPrevious, kSlower, kFaster };

struct OpenRecording {
    QString path;
    QString source;           ///< what this window imported it from, a path a line; empty: nothing
    ImportFacts importFacts;  ///< what became of that
    QString part;             ///< file that it is read from while it is imported; empty: `path`
    ImportProgress imported;  ///< while it is
    Duration later;           ///< all of it is, than it was while it was imported
    RecordingSummary summary;
    analysis::Report report;
    std::shared_ptr<const StepFigures> figures;  ///< of summary and report; null: a sketch
    bool analysed = false;                       ///< false: a sketch, its report is on its way
    bool beingWritten = false;                   ///< some process was writing it when it was read

    /// The file to read.
    [[nodiscard]] const QString& file() const { return part.isEmpty() ? path : part; }
    /// This window imports it: more comes, at last into `path`.
    [[nodiscard]] bool isImporting() const { return !part.isEmpty(); }
    /// What the user opened.
    [[nodiscard]] const QString& address() const { return source.isEmpty() ? path : source; }
    [[nodiscard]] TimeRange bounds() const { return summary.bounds; }
    /// Null: there is no such lane.
    [[nodiscard]] const LaneFacts* lane(LaneAddress key) const;
    /// Steps that lie whole in `range` on some rank; nullopt: none does.
    [[nodiscard]] std::optional<StepSpan> stepsIn(TimeRange range) const;
    /// Steps that `selection` names, or that lie whole in its range; nullopt: there are none.
    [[nodiscard]] std::optional<StepSpan> stepsOf(const Selection& selection) const;
    /// Stretch of time of what is selected: of steps from the first beginning to the last end on
    /// the selected ranks.
    [[nodiscard]] TimeRange timeOf(const Selection& selection) const;
    /// The step beside what is selected; nullopt: there is none.
    [[nodiscard]] std::optional<StepIndex> stepBeside(const Selection& selection,
                                                      StepWalk walk) const;
    /// Its run, or its import, is going on: more comes.
    [[nodiscard]] bool isRunning() const { return beingWritten && !summary.complete; }
    /// Shardscope's own training: model, strategy and options are known.
    [[nodiscard]] bool isOwn() const { return sourceOf(summary.run) == RecordingSource::kOwnRun; }
    /// Another tool's trace, which cannot be recorded again with more in it.
    [[nodiscard]] bool isTrace() const { return sourceOf(summary.run) == RecordingSource::kImport; }
    /// Of a run of another program, that program.
    [[nodiscard]] std::optional<run::ProgramRun> program() const;
    /// What distinguishes it from others of the same configuration: "run.sscope · shakespeare ·
    /// zero3 × 2".
    [[nodiscard]] QString label() const;
    /// "shakespeare · zero3 × 2"; of a program "torchrun train.py · 2 ranks"; of a trace its file
    /// and ranks
    [[nodiscard]] QString title() const;
};

using RecordingPtr = std::shared_ptr<const OpenRecording>;

}  // namespace shardscope::desktop

Q_DECLARE_METATYPE(shardscope::desktop::RecordingPtr)
