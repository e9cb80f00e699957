// Everything the pages show without asking the loader again: rows, report and the engine's
// events of one recording. Immutable once loaded; shared between the loader and GUI threads.
#pragma once

#include "app/desktop/models/selection.h"
#include "profiler/analysis/report.h"
#include "storage/model/collective_key.h"
#include "storage/model/recording.h"

#include <QMetaType>
#include <QString>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// Density of the whole run, for the minimap: shares of each bucket, 0 to 1, mean over ranks.
struct RunDensity {
    TimeRange range;
    std::vector<float> compute;
    std::vector<float> blocked;
};

/// What became of a trace's events: names and values, for people.
using ImportFacts = std::vector<std::pair<QString, QString>>;

struct OpenRecording {
    QString path;
    QString source;           ///< what this window imported it from, a path a line; empty: nothing
    ImportFacts importFacts;  ///< what became of that
    RecordingSummary summary;
    analysis::Report report;
    std::vector<RankEvents> ranks;  ///< by rank
    RunDensity density;
    bool analysed = false;      ///< false: a sketch, its report is on its way
    bool beingWritten = false;  ///< some process was writing it when it was read

    /// What the user opened.
    [[nodiscard]] const QString& address() const { return source.isEmpty() ? path : source; }
    [[nodiscard]] TimeRange bounds() const { return summary.bounds; }
    [[nodiscard]] const RankEvents* rank(RankId rank) const;
    /// Null: there is no such lane.
    [[nodiscard]] const LaneFacts* lane(LaneAddress key) const;
    /// This collective on a rank; null when it was not recorded.
    [[nodiscard]] const CollectiveEvent* collective(RankId rank, CollectiveKey key) const;
    /// Ranks of a group in the order in which its events name them.
    [[nodiscard]] std::vector<RankId> members(std::uint32_t group) const;
    /// Steps that lie whole in `range` on some rank; nullopt: none does.
    [[nodiscard]] std::optional<StepSpan> stepsIn(TimeRange range) const;
    /// Steps that `selection` names, or that lie whole in its range; nullopt: there are none.
    [[nodiscard]] std::optional<StepSpan> stepsOf(const Selection& selection) const;
    /// Stretch of time of what is selected: of steps from the first beginning to the last end on
    /// the selected ranks.
    [[nodiscard]] TimeRange timeOf(const Selection& selection) const;
    /// Its run is going on: more comes.
    [[nodiscard]] bool isRunning() const { return beingWritten && !summary.complete; }
    /// Another tool's trace, which says nothing of model and strategy.
    [[nodiscard]] bool isImported() const { return summary.run.model.empty(); }
    /// "shakespeare · zero3 × 2"
    [[nodiscard]] QString title() const;
};

using RecordingPtr = std::shared_ptr<const OpenRecording>;

/// Shares of compute and of waiting in `buckets` equal stretches.
[[nodiscard]] RunDensity runDensity(const std::vector<RankEvents>& ranks, TimeRange range,
                                    int buckets);

}  // namespace shardscope::desktop

Q_DECLARE_METATYPE(shardscope::desktop::RecordingPtr)
