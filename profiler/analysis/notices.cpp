#include "profiler/analysis/notices.h"

#include <algorithm>

namespace shardscope::analysis {
namespace {

/// With a capital and a full stop.
std::string sentence(std::string text) {
    if (text.empty()) return text;
    if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    if (!text.ends_with('.')) text += '.';
    return text;
}

RunFinding noticeOf(const Diagnostic& diagnostic) {
    RunFinding notice;
    notice.code = diagnostic.code;
    notice.severity = diagnostic.severity;
    notice.title = sentence(diagnostic.message);
    notice.detail = sentence(diagnostic.remedy);
    notice.rank = diagnostic.rank;
    return notice;
}

RunFinding noticeOf(const Completeness& completeness, const std::string& missing) {
    RunFinding notice;
    notice.code = completeness.known ? "recording-incomplete" : "completeness-unknown";
    notice.severity = completeness.known ? Severity::kProblem : Severity::kNote;
    notice.title = completeness.known ? "Something is missing from the recording"
                                      : "Whether the recording is complete cannot be told";
    notice.detail = sentence(missing);
    return notice;
}

}  // namespace

std::vector<RunFinding> notices(const Report& report) {
    std::vector<RunFinding> all;
    for (const Diagnostic& diagnostic : report.diagnostics) all.push_back(noticeOf(diagnostic));
    for (const std::string& missing : report.completeness.missing)
        all.push_back(noticeOf(report.completeness, missing));
    all.insert(all.end(), report.findings.begin(), report.findings.end());
    std::stable_sort(all.begin(), all.end(), [](const RunFinding& a, const RunFinding& b) {
        return a.severity > b.severity;
    });
    return all;
}

int problemCount(const std::vector<RunFinding>& notices) {
    return static_cast<int>(std::count_if(notices.begin(), notices.end(), [](const auto& notice) {
        return notice.severity != Severity::kNote;
    }));
}

}  // namespace shardscope::analysis
