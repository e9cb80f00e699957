#include "profiler/analysis/rules/notices.h"

#include "storage/model/repaired.h"

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

struct KnownCode {
    const char* code;
    NoticeTopic topic;
    const char* consequence;
};
constexpr const char* kTooLow =
    "Counts, sums and shares are of what is there, and too low where something is missing.";
constexpr const char* kNoKernels =
    "What devices did is not, or not all, there: device time and idle time cannot be relied on.";
constexpr const char* kTimesOff =
    "Times of different hosts may seem earlier or later than they "
    "were: who waited for whom is judged only where it can be.";
/// Codes of what recorders and imports note; what is not here was noted while recording.
constexpr KnownCode kKnownCodes[] = {
    {"rank-died", NoticeTopic::kRun, ""},
    {"host-lost", NoticeTopic::kRun, ""},
    {"run-failed", NoticeTopic::kRun, ""},
    {"recording-incomplete", NoticeTopic::kMissing, kTooLow},
    {"completeness-unknown", NoticeTopic::kMissing,
     "Nothing says that anything is missing, and nothing proves that nothing is."},
    {"events-dropped", NoticeTopic::kMissing, kTooLow},
    {"events-not-fetched", NoticeTopic::kMissing, kTooLow},
    {"reports-dropped", NoticeTopic::kMissing, kTooLow},
    {"chunk-damaged", NoticeTopic::kMissing, kTooLow},
    {"slow-steps-squeezed", NoticeTopic::kMissing, kTooLow},
    {"cupti-dropped", NoticeTopic::kMissing, kNoKernels},
    {"cupti-partial", NoticeTopic::kMissing, kNoKernels},
    {"cupti-unreadable", NoticeTopic::kMissing, kNoKernels},
    {"cupti-no-launches", NoticeTopic::kMissing, kNoKernels},
    {"kernels-missing", NoticeTopic::kMissing, kNoKernels},
    {"device-records-dropped", NoticeTopic::kMissing, kNoKernels},
    {"device-records-invalid", NoticeTopic::kMissing, kNoKernels},
    {"device-records-untimed", NoticeTopic::kMissing, kNoKernels},
    {"no-device-telemetry", NoticeTopic::kMissing, ""},
    {"device-counter-missing", NoticeTopic::kMissing, ""},
    {"mig-counters", NoticeTopic::kMissing, ""},
    {"words-lost", NoticeTopic::kMissing, ""},
    {"size-limit-exceeded", NoticeTopic::kMissing, ""},
    {kPartOfRecording, NoticeTopic::kMissing,
     "All figures are of this part; the rest of the run is in the recording it was cut from."},
    {"clock-stepped", NoticeTopic::kClocks, ""},
    {"clocks-unrelated", NoticeTopic::kClocks, kTimesOff},
    {kRepairedCode, NoticeTopic::kRepair, kTooLow},
    {"imported", NoticeTopic::kImport, ""},
    {"events-rejected", NoticeTopic::kImport, kTooLow},
    {"more-ranks-than-cores", NoticeTopic::kNoted,
     "Ranks take turns on the cores: times say little of how fast each would be by itself."},
};

void classify(Notice& notice) {
    notice.topic = NoticeTopic::kNoted;
    for (const KnownCode& known : kKnownCodes) {
        if (notice.code != known.code) continue;
        notice.topic = known.topic;
        notice.consequence = known.consequence;
    }
}

/// "use fewer ranks", of a sentence.
std::string phrase(std::string text) {
    if (text.ends_with('.')) text.pop_back();
    // Not of names and options: "NCCL...", "--capture".
    const bool plain = text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' &&
                       (text[1] == ' ' || (text[1] >= 'a' && text[1] <= 'z'));
    if (plain) text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
}

Notice noticeOf(const Diagnostic& diagnostic) {
    Notice notice;
    notice.code = diagnostic.code;
    notice.severity = diagnostic.severity;
    notice.title = sentence(diagnostic.message);
    notice.remedy = phrase(diagnostic.remedy);
    notice.rank = diagnostic.rank;
    notice.count = diagnostic.count;
    classify(notice);
    return notice;
}

/// Everything that is missing is one notice, whose sentences are its detail.
Notice noticeOf(const Completeness& completeness) {
    Notice notice;
    notice.code = completeness.known ? "recording-incomplete" : "completeness-unknown";
    notice.severity = completeness.known ? Severity::kProblem : Severity::kNote;
    notice.title = completeness.known ? "Something is missing from the recording"
                                      : "Whether the recording is complete is unknown";
    const std::size_t said = std::min(completeness.missing.size(), kMostSentences);
    for (std::size_t i = 0; i < said; ++i) {
        if (i > 0) notice.detail += ' ';
        notice.detail += sentence(completeness.missing[i]);
    }
    if (said < completeness.missing.size())
        notice.detail += fmt::format(" And {} more.", completeness.missing.size() - said);
    if (!completeness.gaps.empty()) {
        const CountGap& first = completeness.gaps.front();
        notice.rank = first.rank;
        notice.steps = {first.step, first.step};
    }
    classify(notice);
    return notice;
}

/// Many of one kind are the first of them, with how many there are.
std::vector<Notice> grouped(const std::vector<Notice>& all) {
    std::map<std::pair<std::string, Severity>, std::size_t> sizes, seen;
    for (const Notice& each : all) ++sizes[{each.code, each.severity}];
    std::vector<Notice> kept;
    for (const Notice& each : all) {
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

std::vector<Notice> notices(const Report& report) {
    std::vector<Notice> all;
    for (const Diagnostic& diagnostic : report.diagnostics) all.push_back(noticeOf(diagnostic));
    // What is still to come is not missing.
    if (!report.completeness.missing.empty() && !report.running)
        all.push_back(noticeOf(report.completeness));
    for (const RunFinding& finding : report.findings) all.push_back({finding, {}, {}});
    all = grouped(all);
    // Of notes, which can be many that only tell something, what costs time comes first.
    const auto place = [](const Notice& notice) {
        return std::pair(notice.severity, notice.severity == Severity::kNote && notice.cost);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Notice& a, const Notice& b) { return place(a) > place(b); });
    return all;
}

int problemCount(const std::vector<Notice>& notices) {
    return static_cast<int>(std::count_if(notices.begin(), notices.end(), [](const auto& notice) {
        return notice.severity != Severity::kNote;
    }));
}

}  // namespace shardscope::analysis
