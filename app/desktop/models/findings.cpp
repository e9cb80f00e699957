#include "app/desktop/models/findings.h"

#include "app/desktop/models/format.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QStringList>
#include <algorithm>
#include <string_view>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// The page that shows what a finding is about, where it names no stretch of time.
QString pageOf(const analysis::Notice& notice) {
    const std::string_view code = notice.code;
    if (code.starts_with("memory-")) return u"memory"_s;
    if (code == "loss-spike" || code == "gradient-norm" || code == "not-finite")
        return u"training"_s;
    return notice.range || notice.steps || notice.rank ? u"timeline"_s : QString();
}

/// A stretch of time and a little of what lies around it, so that it can be seen to be long; else
/// the steps, else the rank.
Selection evidenceOf(const OpenRecording& recording, const analysis::Notice& notice) {
    Selection evidence;
    if (notice.range) {
        const Duration margin{std::max<std::int64_t>(notice.range->duration().ns / 10, 1'000'000)};
        evidence.range =
            TimeRange{notice.range->begin - margin, notice.range->end + margin}.intersection(
                recording.bounds());
        return evidence;
    }
    if (notice.steps) evidence.steps = StepSpan{notice.steps->first, notice.steps->second};
    const auto& ranks = recording.summary.ranks;
    const bool isThere =
        notice.rank && std::any_of(ranks.begin(), ranks.end(), [&](const RankFacts& each) {
            return each.rank == *notice.rank;
        });
    if (isThere && ranks.size() > 1) evidence.ranks = {*notice.rank};
    return evidence;
}

Finding shown(const OpenRecording& recording, const analysis::Notice& notice) {
    Finding row;
    row.severity = notice.severity;
    row.topic = notice.topic;
    row.code = fromUtf8(notice.code);
    row.title = fromUtf8(notice.title);
    row.detail = fromUtf8(notice.detail);
    row.consequence = fromUtf8(notice.consequence);
    row.remedy = fromUtf8(notice.remedy);
    row.count = notice.count;
    row.page = pageOf(notice);
    if (row.page.isEmpty()) return row;
    row.evidence = evidenceOf(recording, notice);
    // of many steps no single slice stands for all
    const bool isOneStep = notice.steps && notice.steps->first == notice.steps->second;
    if (isOneStep || notice.rank) row.longestIn = notice.range;
    row.rank = notice.rank;
    return row;
}

}  // namespace

QString Finding::words() const {
    QStringList said{detail, consequence};
    if (!remedy.isEmpty()) said << u"What to try: %1."_s.arg(remedy);
    said.removeAll(QString());
    return said.join(u' ');
}

std::vector<Finding> findings(const SelectedPart& part) {
    std::vector<Finding> found;
    for (const analysis::Notice& notice : analysis::notices(*part.report))
        found.push_back(shown(*part.recording, notice));
    return found;
}

int problemCount(const std::vector<Finding>& findings) {
    return static_cast<int>(
        std::count_if(findings.begin(), findings.end(),
                      [](const Finding& each) { return each.severity != Severity::kNote; }));
}

std::vector<QString> verdicts(const SelectedPart& part) {
    const analysis::Judged& judged = part.report->judged;
    std::vector<QString> said;
    if (judged.enough && analysis::notices(*part.report).empty())
        said.push_back(u"Nothing stands out."_s);
    for (const std::string& unknown : judged.unknown)
        said.push_back(u"Unknown: %1"_s.arg(fromUtf8(unknown)));
    return said;
}

}  // namespace shardscope::desktop
