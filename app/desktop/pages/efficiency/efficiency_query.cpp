#include "app/desktop/pages/efficiency/efficiency_query.h"

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/format.h"
#include "profiler/analysis/compare/comparability.h"
#include "profiler/questions/question.h"
#include "profiler/questions/scaling.h"
#include "storage/recording/read/cancellable_reader.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

/// Each against the first, as the question does.
Result<QStringList> refusalsOf(const OtherRecordings::Readers& readers, const QStringList& names) {
    QStringList refusals;
    Result<RecordingSummary> first = readers.front()->summary();
    if (!first) return failure(first);
    for (std::size_t i = 1; i < readers.size(); ++i) {
        const auto other = readers[i]->summary();
        if (!other) return failure(other);
        const auto found = analysis::scalingComparabilityOf(
            *first, *other, names[static_cast<qsizetype>(i)].toStdString());
        for (const std::string& refusal : found.refusals) refusals << fromUtf8(refusal);
    }
    return refusals;
}

}  // namespace

Result<EfficiencyFramePtr> loadEfficiency(storage::RecordingReader& reader, const PartPtr& part,
                                          const storage::Generation& generation) {
    storage::CancellableReader cancellable(reader, generation);
    auto frame = std::make_shared<EfficiencyFrame>();
    frame->part = part;
    if (!part->refusal.isEmpty()) return EfficiencyFramePtr(std::move(frame));
    const questions::Selection selection = askedSelection(part->selection);
    auto answer = questions::answerTo(*questions::findQuestion("efficiency"),
                                      {cancellable, *part->summary, selection});
    if (!answer) return failure(answer);
    frame->answer = std::move(*answer);
    return EfficiencyFramePtr(std::move(frame));
}

Result<ScalingFramePtr> readScaling(const OtherRecordings::Readers& readers,
                                    const ScalingQuery& query) {
    auto frame = std::make_shared<ScalingFrame>();
    frame->query = query;
    if (!query.anyway) {
        auto refusals = refusalsOf(readers, query.names);
        if (!refusals) return failure(refusals);
        frame->refusals = std::move(*refusals);
        if (!frame->refusals.isEmpty()) return ScalingFramePtr(std::move(frame));
    }
    std::vector<questions::ScaledRecording> recordings;
    for (std::size_t i = 0; i < readers.size(); ++i)
        recordings.push_back({query.names[static_cast<qsizetype>(i)].toStdString(), readers[i]});
    auto answer = questions::scalingOfRecordings(recordings, true);
    if (!answer) return failure(answer);
    frame->answer = std::move(*answer);
    return ScalingFramePtr(std::move(frame));
}

}  // namespace shardscope::desktop
