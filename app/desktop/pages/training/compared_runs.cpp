#include "app/desktop/pages/training/compared_runs.h"

#include "app/desktop/models/format.h"
#include "storage/recording/read/recording_reader.h"

#include <QFileInfo>
#include <algorithm>
#include <utility>

namespace shardscope::desktop {
namespace {

Result<ComparedRun> readRun(storage::RecordingReader& reader, const QString& path) {
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    return ComparedRun{path, QFileInfo(path).completeBaseName(), summary->run.worldSize,
                       stepCurves(*summary)};
}

}  // namespace

void ComparedRuns::add(const QString& path) {
    // each a kind of its own: none takes the place of another that waits
    m_recordings.ask(
        m_asked++, {path},
        [path](const OtherRecordings::Readers& readers) { return readRun(*readers.front(), path); },
        [this, path](const Result<ComparedRun>& run) {
            if (run)
                take(*run);
            else
                Q_EMIT failed(path, fromUtf8(run.error().message));
        });
}

void ComparedRuns::take(ComparedRun run) {
    std::erase_if(m_runs, [&](const ComparedRun& each) { return each.path == run.path; });
    m_runs.push_back(std::move(run));
    Q_EMIT changed();
}

void ComparedRuns::clear() {
    m_runs.clear();
    Q_EMIT changed();
}

}  // namespace shardscope::desktop
