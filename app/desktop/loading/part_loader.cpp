#include "app/desktop/loading/part_loader.h"

#include "app/desktop/loading/recording_loader.h"
#include "profiler/analysis/part.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/cancellable_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardscope::desktop {
questions::Selection askedSelection(const Selection& selection) {
    questions::Selection wanted;
    wanted.ranks = selection.ranks;
    wanted.range = selection.range;
    if (selection.steps) wanted.steps = {{selection.steps->first, selection.steps->last}};
    return wanted;
}

namespace {

std::vector<StepSums> stepsAround(const OpenRecording& recording,
                                  const std::vector<RankId>& ranks) {
    const auto& rows = recording.report.ledger;
    const auto& steps = recording.summary.steps;
    const LedgerView& all = recording.figures->ledger;
    if (ranks.empty() || ranks.size() > kMostRankBars) return {all.steps};
    std::vector<StepSums> around;
    for (const RankId rank : ranks) {
        const auto place = std::find(all.ranks.begin(), all.ranks.end(), rank) - all.ranks.begin();
        // of many ranks no sums by rank are kept
        around.push_back(place < std::ssize(all.byRanks)
                             ? all.byRanks[static_cast<std::size_t>(place)]
                             : sumSteps(rows, steps, rank));
    }
    return around;
}

}  // namespace

Result<PartPtr> readPart(storage::RecordingReader& reader, const RecordingPtr& recording,
                         const Selection& selection) {
    if (selection.isEverything()) return wholePart(recording);
    auto read = questions::ReportReader::of(recording->summary, askedSelection(selection));
    if (!read && read.error().code == ErrorCode::kUsage)
        return emptyPart(recording, selection, QString::fromStdString(read.error().message));
    if (!read) return failure(read);
    while (true) {
        const auto more = read->addNextRank(reader);
        if (!more) return failure(more);
        if (!*more) break;
    }
    auto report = std::make_shared<analysis::Report>(read->conclude());
    analysis::takeTrust(recording->report, *report);
    auto part = std::make_shared<SelectedPart>();
    part->recording = recording;
    part->selection = selection;
    part->summary = std::make_shared<const RecordingSummary>(read->summary());
    part->report = std::move(report);
    part->figures = stepFigures(*part->summary, part->report->ledger);
    if (selection.cutsTime() && recording->figures)
        part->around = stepsAround(*recording, part->figures->ledger.ranks);
    if (const auto step = oneStep(selection))
        part->against = analysis::againstMedian(recording->report.ledger, *step,
                                                recording->report.steady, selection.ranks);
    return PartPtr(std::move(part));
}

PartLoader::PartLoader(RecordingLoader& loader, SelectionModel& selection, QObject* parent)
    : QObject(parent), m_loader(loader), m_selection(selection), m_report(loader, Urgency::kTable) {
    connect(&loader, &RecordingLoader::sketched, this, [this] {
        m_current.reset();
        m_report.forget();
    });
    connect(&loader, &RecordingLoader::closed, this, [this] {
        m_current.reset();
        m_report.forget();
    });
    connect(&loader, &RecordingLoader::opened, this, &PartLoader::update);
    connect(&loader, &RecordingLoader::grown, this, &PartLoader::update);
    connect(&selection, &SelectionModel::selectionChanged, this, &PartLoader::update);
}

void PartLoader::take(const PartPtr& part) {
    m_current = part;
    Q_EMIT changed();
}

void PartLoader::update() {
    const RecordingPtr recording = m_loader.recording();
    if (!recording || !recording->analysed) return;
    const Selection& selection = m_selection.current();
    if (selection.isEverything()) {
        m_report.forget();
        return take(wholePart(recording));
    }
    // What is shown meanwhile: the part before, or all of it.
    if (!m_current) m_current = wholePart(recording);
    m_report.ask(
        [recording, selection](auto& reader, const auto&, const auto& generation) {
            storage::CancellableReader cancellable(reader, generation);
            return readPart(cancellable, recording, selection);
        },
        [this](const PartPtr& part) { take(part); });
}

}  // namespace shardscope::desktop
