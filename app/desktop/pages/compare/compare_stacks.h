// The differential flame graph of the Compare page: what it reads, on the thread of
// OtherRecordings, and what it shows and says of it. Results are immutable.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/flame_data.h"
#include "app/desktop/models/selection.h"
#include "profiler/questions/read_stacks.h"

#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What cells are as wide as.
enum class FlameWidth : std::uint8_t { kJudged, kBaseline };

struct ComparedStacks {
    std::vector<questions::StackKind> kinds;  ///< to choose from
    std::optional<questions::StackKind> kind;
    std::shared_ptr<const FlameData> byJudged, byBaseline;  ///< without what has no width there
    QString note;  ///< what is compared, and what is in one of them alone
    [[nodiscard]] const std::shared_ptr<const FlameData>& by(FlameWidth width) const {
        return width == FlameWidth::kJudged ? byJudged : byBaseline;
    }
};
using ComparedStacksPtr = std::shared_ptr<const ComparedStacks>;

/// Of the first baseline and the run that is judged.
[[nodiscard]] Result<ComparedStacksPtr> readComparedStacks(
    const OtherRecordings::Readers& readers, const Selection& selection,
    std::optional<questions::StackKind> wanted);

/// Changes are full-coloured from a half more or less on; those of less than 1 % are none.
[[nodiscard]] FlameData differenceFlame(const analysis::CallDifference& difference,
                                        FlameWidth width, const QString& whole);
[[nodiscard]] QString differenceNote(const questions::StackDifference& difference,
                                     std::size_t recordings);

}  // namespace shardscope::desktop
