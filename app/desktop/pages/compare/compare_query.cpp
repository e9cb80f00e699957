#include "app/desktop/pages/compare/compare_query.h"

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/compare_model.h"
#include "profiler/analysis/compare/run_figures.h"
#include "profiler/questions/compare.h"
#include "storage/model/plain_text.h"
#include "storage/model/run_label.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

/// "ledger: blocked in reduce-scatters" and "37,113 tok/s" have room.
constexpr int kFigureWidth = 264, kRateWidth = 108;

void add(const std::vector<std::string>& more, std::vector<std::string>& sentences) {
    for (const std::string& each : more)
        if (std::find(sentences.begin(), sentences.end(), each) == sentences.end())
            sentences.push_back(each);
}

/// Of all baselines, as the question says it.
analysis::Comparability comparability(const std::vector<RecordingSummary>& summaries) {
    analysis::Comparability all;
    for (std::size_t i = 0; i + 1 < summaries.size(); ++i) {
        const auto one =
            analysis::comparabilityOf(summaries[i], summaries.back(), sideNames(summaries.size()));
        add(one.refusals, all.refusals);
        add(one.warnings, all.warnings);
    }
    return all;
}

/// The runs' own names where all have one and they differ; else `files`.
QStringList namesOf(const std::vector<RecordingSummary>& summaries, const QStringList& files) {
    std::vector<RunLabel> labels;
    for (const RecordingSummary& summary : summaries) labels.push_back(labelIn(summary.facts));
    const std::vector<std::string> names = distinctNames(labels);
    QStringList all;
    for (const std::string& name : names) all << fromUtf8(printableLine(name));
    return all.isEmpty() ? files : all;
}

/// Columns by the letters of the recordings: "first" and "second", and those whose title both
/// have, as "count".
void nameSides(std::size_t recordings, AnswerTable& table) {
    const QString before = baselineName(recordings), after = letterOf(recordings - 1);
    std::map<QString, int> titles;
    for (const TableColumn& column : table.columns) ++titles[column.title];
    std::map<QString, int> seen;
    for (TableColumn& column : table.columns) {
        const QString title = column.title;
        if (title == QObject::tr("first")) column.title = before;
        if (title == QObject::tr("second")) column.title = after;
        if (titles[title] == 2)
            column.title = QObject::tr("%1 of %2").arg(title, seen[title]++ == 0 ? before : after);
    }
}

/// In people's words; the key of a gate's rule on hover.
void nameFigures(AnswerTable& table) {
    std::size_t unit = table.columns.size();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (table.columns[i].title == QObject::tr("unit")) unit = i;
    for (auto& row : table.rows) {
        row.front().tip = row.front().text;
        row.front().text = fromUtf8(analysis::figureTitle(row.front().text.toStdString()));
        // each value has its own
        if (unit < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(unit));
    }
    if (unit < table.columns.size())
        table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(unit));
    table.columns.front().minimumWidth = kFigureWidth;
}

}  // namespace

QString baselineName(std::size_t recordings) {
    if (recordings < 3) return letterOf(0);
    return (recordings == 3 ? QObject::tr("%1 and %2") : QObject::tr("%1 to %2"))
        .arg(letterOf(0), letterOf(recordings - 2));
}

analysis::SideNames sideNames(std::size_t recordings) {
    return {recordings == 2 ? letterOf(0).toStdString() : "a baseline",
            letterOf(recordings - 1).toStdString()};
}

Result<ComparisonPtr> readComparison(const OtherRecordings::Readers& readers,
                                     const CompareQuery& query) {
    auto made = std::make_shared<Comparison>();
    made->query = query;
    std::vector<RecordingSummary> summaries;
    for (storage::RecordingReader* reader : readers) {
        auto summary = reader->summary();
        if (!summary) return failure(summary);
        summaries.push_back(std::move(*summary));
    }
    made->able = comparability(summaries);
    made->refused = !made->able.refusals.empty() && !query.anyway;
    const QStringList names = namesOf(summaries, query.names);
    for (std::size_t i = 0; i < summaries.size(); ++i)
        made->recordings.push_back({names[static_cast<qsizetype>(i)],
                                    summaries[i].run.worldSize,
                                    summaries[i].complete,
                                    {}});
    if (made->refused) return ComparisonPtr(std::move(made));
    summaries.clear();
    auto compared = questions::compareRecordings(
        readers, {true, {}, askedSelection(query.selection), sideNames(readers.size())});
    if (!compared) return failure(compared);
    const auto& sides = compared->sides;
    for (std::size_t i = 0; i < sides.size(); ++i)
        made->recordings[i].curves = stepCurves(sides[i].summary);
    made->losses = analysis::lossCurves(sides.front().summary, sides.back().summary);
    if (!made->losses.steps.empty()) made->lossSentence = questions::lossSentence(made->losses);
    made->answer = std::move(compared->answer);
    made->figures = std::move(compared->figures);
    for (const questions::Table& table : made->answer.tables)
        if (std::string_view(table.key) != "losses")
            made->tables.emplace(table.key, answerTable(table));
    for (TableColumn& column : made->tables.at("figures").columns)
        if (column.numeric) column.minimumWidth = std::max(column.minimumWidth, kRateWidth);
    for (auto& [key, table] : made->tables) nameSides(made->recordings.size(), table);
    nameFigures(made->tables.at("figures"));
    return ComparisonPtr(std::move(made));
}

Result<StepsPtr> readSteps(const OtherRecordings::Readers& readers,
                           const std::vector<StepIndex>& steps) {
    auto made = std::make_shared<std::vector<std::vector<questions::StepOfRank>>>();
    for (std::size_t i = 0; i < readers.size() && i < steps.size(); ++i) {
        const auto summary = readers[i]->summary();
        if (!summary) return failure(summary);
        auto step = questions::readStep(*readers[i], *summary, steps[i], kMostComparedRanks);
        if (!step) return failure(step);
        made->push_back(std::move(*step));
    }
    return StepsPtr(std::move(made));
}

}  // namespace shardscope::desktop
