// `shardscope report`: explains a run from its recording.
#include "app/cli/command.h"
#include "app/cli/hta_rows.h"
#include "app/cli/report_text.h"
#include "storage/recording/recording_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace shardscope::cli {
namespace {

struct ReportOptions {
    std::string path;
    bool json = false;
    bool hta = false;  ///< HTA's numbers for ranks without a device as well
};

/// HTA's two ways to treat the last step, of times as they are and in whole microseconds; the first
/// is what HTA says by itself.
Result<std::vector<analysis::HtaNumbers>> htaNumbers(storage::RecordingReader& reader) {
    const auto traces = readHtaTraces(reader);
    if (!traces) return failure(traces);
    std::vector<analysis::HtaNumbers> numbers;
    for (const bool keepLastStep : {false, true})
        for (const bool wholeMicroseconds : {false, true})
            for (auto& rank : analysis::htaCompatible(*traces, {wholeMicroseconds, keepLastStep}))
                numbers.push_back(std::move(rank));
    return numbers;
}

bool hasDeviceLane(const RecordingSummary& summary) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(),
                       [](const LaneFacts& lane) { return isStreamLane(lane.lane); });
}

Result<analysis::Report> reportOf(const std::string& path, bool hta) {
    auto reader = storage::openRecording(path);
    if (!reader) return failure(reader);
    auto summary = (*reader)->summary();
    if (!summary) return failure(summary);
    const TimeRange whole{summary->bounds.begin, {summary->bounds.end.ns + 1}};
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary->ranks) {
        auto events = (*reader)->rankEvents(rank.rank, whole);
        if (!events) return failure(events);
        ranks.push_back(std::move(*events));
    }
    analysis::Report report = analysis::analyse(*summary, ranks);
    if (hta || hasDeviceLane(*summary)) {
        auto numbers = htaNumbers(**reader);
        if (!numbers) return failure(numbers);
        report.hta = std::move(*numbers);
    }
    return report;
}

int run(const ReportOptions& options) {
    const auto report = reportOf(options.path, options.hta);
    if (!report) {
        fmt::print(stderr, "shardscope: {}\n", report.error().message);
        return exitStatus(report.error());
    }
    fmt::print("{}\n",
               options.json ? analysis::toJson(*report) : reportText(*report, options.path));
    return 0;
}

}  // namespace

Command addReport(CLI::App& root) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* app = root.add_subcommand("report", "explain a run from its recording");
    app->footer("Example:\n  shardscope report run.sscope --json");
    app->add_option("recording", options->path, "recording to explain")->required();
    app->add_flag("--json", options->json, "print one JSON document, schema shardscope.report/1");
    app->add_flag("--hta", options->hta,
                  "HTA-compatible numbers also for ranks without a device, as exported");
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
