#include "app/desktop/loading/load_recording.h"

#include "app/desktop/models/curves.h"
#include "profiler/analysis/part.h"

#include <malloc.h>

#include <utility>

namespace shardscope::desktop {
namespace {

/// Of a program that left no event it is known how long it ran.
void giveTime(RecordingSummary& summary) {
    if (sourceOf(summary.run) == RecordingSource::kProgram && summary.bounds.empty())
        summary.bounds = {Timestamp{0}, summary.run.ended};
}

}  // namespace

Result<std::shared_ptr<OpenRecording>> sketchRecording(storage::RecordingReader& reader,
                                                       const QString& path, bool beingWritten) {
    auto sketch = std::make_shared<OpenRecording>();
    sketch->path = path;
    sketch->beingWritten = beingWritten;
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    sketch->summary = std::move(*summary);
    giveTime(sketch->summary);
    return sketch;
}

RecordingPtr analysed(const OpenRecording& sketch, questions::ReportReader& read) {
    auto whole = std::make_shared<OpenRecording>(sketch);
    whole->report = read.conclude();
    if (whole->isImporting())
        analysis::markRunning(whole->report, "the trace is being imported");
    else if (whole->isRunning())
        analysis::markRunning(whole->report);
    whole->figures = stepFigures(whole->summary, whole->report.ledger);
    ::malloc_trim(0);  // a report of a long run leaves much behind
    whole->analysed = true;
    return whole;
}

Result<RecordingPtr> analysedWhole(const OpenRecording& sketch, storage::RecordingReader& reader) {
    auto read = questions::ReportReader::of(sketch.summary);
    if (!read) return failure(read);
    while (true) {
        const auto more = read->addNextRank(reader);
        if (!more) return failure(more);
        if (!*more) return analysed(sketch, *read);
    }
}

Result<RecordingPtr> loadRecording(storage::RecordingReader& reader, const QString& path,
                                   bool beingWritten) {
    const auto sketch = sketchRecording(reader, path, beingWritten);
    if (!sketch) return failure(sketch);
    return analysedWhole(**sketch, reader);
}

}  // namespace shardscope::desktop
