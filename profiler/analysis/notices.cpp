#include "profiler/analysis/notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr std::size_t kMostSentences = 3;
constexpr std::size_t kMostOfAKind = 3;

RunFinding noticeOf(const Diagnostic& diagnostic) {
    RunFinding notice;
    notice.code = diagnostic.code;
    notice.severity = diagnostic.severity;
    notice.title = sentence(diagnostic.message);
    notice.detail = sentence(diagnostic.remedy);
    notice.rank = diagnostic.rank;
    return notice;
}

/// Everything that is missing is one notice, whose sentences are its detail.
RunFinding noticeOf(const Completeness& completeness) {
    RunFinding notice;
    notice.code = completeness.known ? "recording-incomplete" : "completeness-unknown";
    notice.severity = completeness.known ? Severity::kProblem : Severity::kNote;
    notice.title = completeness.known ? "Something is missing from the recording"
                                      : "Whether the recording is complete cannot be told";
    const std::size_t said = std::min(completeness.missing.size(), kMostSentences);
    for (std::size_t i = 0; i < said; ++i) {
        if (i > 0) notice.detail += ' ';
        notice.detail += sentence(completeness.missing[i]);
    }
    if (said < completeness.missing.size())
        notice.detail += fmt::format(" And {} more.", completeness.missing.size() - said);
    return notice;
}

/// Many of one kind are the first of them, with how many there are.
std::vector<RunFinding> grouped(const std::vector<RunFinding>& all) {
    std::map<std::pair<std::string, Severity>, std::size_t> sizes, seen;
    for (const RunFinding& each : all) ++sizes[{each.code, each.severity}];
    std::vector<RunFinding> kept;
    for (const RunFinding& each : all) {
        const std::size_t size = sizes[{each.code, each.severity}];
        const std::size_t place = seen[{each.code, each.severity}]++;
        if (size > kMostOfAKind && place > 0) continue;
        kept.push_back(each);
        if (size <= kMostOfAKind) continue;
        kept.back().count = static_cast<std::int64_t>(size);
        kept.back().detail +=
            fmt::format("{}And {} more of this kind.", each.detail.empty() ? "" : " ", size - 1);
    }
    return kept;
}

}  // namespace

std::string sentence(std::string text) {
    if (text.empty()) return text;
    if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    if (!text.ends_with('.')) text += '.';
    return text;
}

std::vector<RunFinding> notices(const Report& report) {
    std::vector<RunFinding> all;
    for (const Diagnostic& diagnostic : report.diagnostics) all.push_back(noticeOf(diagnostic));
    // What is still to come is not missing.
    if (!report.completeness.missing.empty() && !report.running)
        all.push_back(noticeOf(report.completeness));
    all.insert(all.end(), report.findings.begin(), report.findings.end());
    all = grouped(all);
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
