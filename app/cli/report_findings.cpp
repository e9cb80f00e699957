#include "app/cli/report_findings.h"

#include "storage/model/plain_text.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

/// Of more findings than this the rest is counted.
constexpr std::size_t kShownFindings = 5;

/// Which rank, which steps, when.
std::string whereText(const analysis::RunFinding& finding) {
    std::vector<std::string> parts;
    if (finding.rank) parts.push_back(fmt::format("rank {}", finding.rank->value));
    if (finding.steps && finding.steps->first == finding.steps->second)
        parts.push_back(fmt::format("step {}", finding.steps->first.value));
    else if (finding.steps)
        parts.push_back(
            fmt::format("steps {} to {}", finding.steps->first.value, finding.steps->second.value));
    if (finding.range)
        parts.push_back(
            fmt::format("at {} of the recording", durationText({finding.range->begin.ns})));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string findingText(const analysis::RunFinding& finding) {
    std::string text =
        fmt::format("  {}: {}\n", toWord(finding.severity), printableLine(finding.title));
    const auto add = [&text](const char* name, const std::string& value) {
        if (!value.empty()) text += fmt::format("    {:<12}{}\n", name, printableLine(value));
    };
    add("where", whereText(finding));
    if (finding.cost) add("cost", durationText(*finding.cost) + " of all ranks together");
    add("evidence", finding.detail);
    add("what to try", finding.remedy);
    return text;
}

}  // namespace

std::string findingsText(const analysis::Report& report, bool all) {
    std::string text = "Findings\n";
    const std::size_t shown =
        all ? report.findings.size() : std::min(report.findings.size(), kShownFindings);
    for (std::size_t i = 0; i < shown; ++i) text += findingText(report.findings[i]);
    if (shown < report.findings.size())
        text += fmt::format("  {} more: --all\n", report.findings.size() - shown);
    if (report.findings.empty() && report.judged.enough)
        text += "  No findings: nothing stands out\n";
    for (const std::string& what : report.judged.unknown)
        text += fmt::format("  unknown: {}\n", what);
    return text + '\n';
}

}  // namespace shardscope::cli
