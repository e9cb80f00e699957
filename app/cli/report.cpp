// `shardscope report`: explains a run from its recording.
#include "app/cli/command.h"
#include "app/cli/report_text.h"
#include "storage/recording/recording_reader.h"

#include <fmt/format.h>

#include <memory>

namespace shardscope::cli {
namespace {

struct ReportOptions {
    std::string path;
    bool json = false;
};

Result<analysis::Report> reportOf(const std::string& path) {
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
    return analysis::analyse(*summary, ranks);
}

int run(const ReportOptions& options) {
    const auto report = reportOf(options.path);
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
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
