// Findings: the words beside the Overview's pictures.
#include "app/desktop/pages/overview/overview_model.h"
#include "profiler/analysis/notices.h"

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// What the report says, with the page that shows it.
Finding shown(const OpenRecording& recording, const analysis::RunFinding& finding) {
    Finding row;
    row.severity = finding.severity;
    row.title = fromUtf8(finding.title);
    row.detail = fromUtf8(finding.detail);
    if (!finding.remedy.empty()) row.detail += u" What to try: %1."_s.arg(fromUtf8(finding.remedy));
    if (finding.code.starts_with("memory-")) row.page = u"memory"_s;
    if (!finding.range) return row;
    row.page = u"timeline"_s;
    // A little of what lies around it, so that it can be seen to be long.
    const Duration margin{std::max<std::int64_t>(finding.range->duration().ns / 10, 1'000'000)};
    Selection evidence;
    evidence.range =
        TimeRange{finding.range->begin - margin, finding.range->end + margin}.intersection(
            recording.bounds());
    row.evidence = evidence;
    return row;
}

}  // namespace

std::vector<Finding> findings(const SelectedPart& part) {
    std::vector<Finding> found;
    for (const analysis::RunFinding& notice : analysis::notices(*part.report))
        found.push_back(shown(*part.recording, notice));
    return found;
}

std::vector<QString> verdicts(const SelectedPart& part) {
    const analysis::Judged& judged = part.report->judged;
    std::vector<QString> said;
    if (judged.enough && analysis::notices(*part.report).empty())
        said.push_back(u"Nothing stands out."_s);
    for (const std::string& untold : judged.untold)
        said.push_back(u"Could not tell: %1"_s.arg(fromUtf8(untold)));
    return said;
}

}  // namespace shardscope::desktop
